//go:build !unix

package store

func openChanges(string) *changes { return nil }

func (c *changes) close() error { return nil }
