package embedding

// LimitSteps reduces the steps of a task.
func (s *Service) LimitSteps(n int) { s.maxSteps = n }
