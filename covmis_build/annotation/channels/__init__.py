"""The channels: send items to annotators and import their answers."""
