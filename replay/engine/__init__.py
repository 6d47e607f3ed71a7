"""The engine that drives link protocols: the event clock, the air, and who sends when."""
