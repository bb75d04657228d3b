package segment

import "carrel/internal/search/disk"

// Options say what a segment holds beside terms.
type Options struct {
	// Model and Dims name the embedding that vectors come from; Dims 0 means no vectors.
	Model string
	Dims  int
	// Surface gives a readable form of a term, for spelling; "" is the term itself. May be nil.
	Surface func(term string) string
}

// Builder collects documents in memory and writes them as one segment.
type Builder struct{}

// NewBuilder returns an empty Builder.
func NewBuilder(o Options) *Builder { panic("not yet") }

// Add takes a document in, in any order. Nothing of d is kept but its strings.
func (b *Builder) Add(d *Document) { panic("not yet") }

// Size is roughly how many bytes the builder holds.
func (b *Builder) Size() int { panic("not yet") }

// Write writes the segment and syncs the file.
func (b *Builder) Write(fs disk.FS, path string) error { panic("not yet") }
