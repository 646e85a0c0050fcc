"""How an endpoint that was not done ended, in the words of the agent and of all that read its report."""

ENDINGS = DIED, GAVE_UP, REFUSED, HUNG, INCOMPLETE = ("died", "gave up", "refused", "hung", "incomplete")
