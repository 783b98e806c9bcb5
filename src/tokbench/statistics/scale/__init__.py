"""Language models over scale: power laws, orders and costs."""
