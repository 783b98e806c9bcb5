"""The process: exit statuses, memory."""
