"""Files in which other programs say what they measured: flent, iperf3, qlog and Mahimahi."""
