package embedding

// LimitSteps lets tasks of the service end after fewer steps than they would.
func (s *Service) LimitSteps(n int) { s.maxSteps = n }
