package backup

// SetPart sets the maximum size of a part.
func SetPart(t *Target, size int64) { t.part = size }
