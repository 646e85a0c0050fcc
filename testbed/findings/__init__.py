"""The bugs of clients that the testbed found, a folder each in docs/results/findings."""
