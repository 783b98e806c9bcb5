"""Peak speeds of devices, from their data sheets."""

PEAKS = {"NVIDIA H100 80GB HBM3": 989.4, "NVIDIA H200": 989.4, "NVIDIA A100": 312.0}
"""Dense bfloat16 TFLOP/s in the data sheets, by the start of the device's name."""
DEVICES = {"a100": "NVIDIA A100", "h100": "NVIDIA H100 80GB HBM3", "h200": "NVIDIA H200"}
"""Short names of these devices."""
TERA = 1e12
SECONDS_PER_HOUR = 3600


def device_hours(operations: float, peak_tflops: float, utilisation: float) -> float:
    """Return the hours that a device needs for floating-point operations.

    Args:
        operations: floating-point operations.
        peak_tflops: peak speed of the device, in 10^12 operations per second.
        utilisation: share of the peak that is reached (MFU; Chowdhery et al. 2022, appendix B).
    """
    return operations / (peak_tflops * TERA * utilisation * SECONDS_PER_HOUR)
