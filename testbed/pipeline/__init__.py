"""What the rules of the pipeline (workflows/rules/) ask: the plan, what a job works on, what is due, how far it is."""
