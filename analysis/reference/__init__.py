"""The reference set: what the repository keeps of one complete recording, from one commit and one set of images."""
