# What is printed and prepared while the pipeline runs.
onstart:
    CALL.begin()
