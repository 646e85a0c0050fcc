"""What a sender's packets reveal of its controller: a black box, watched from captures alone."""
