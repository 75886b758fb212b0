"""The image that stands for all images."""
IMAGE = "11111111-2222-3333-4444-555555555555"
