package segment

// Document is the input of a Builder.
type Document struct {
	ID, SourceID string
	// Seq is the number of the document's latest change. The documents of a segment are sorted by (SourceID, Seq).
	Seq uint64
	// Year is at most 9999, and 0 for an undated document.
	Year int
	// TitleKey and DOIKey are hashes computed by the caller, 0 for none.
	TitleKey, DOIKey uint64
	// Units are scored separately: one for a short document, its passages for a long one.
	Units []Unit
}

// Unit is a separately scored part of a document, as terms in order. An empty term marks the position of a word that is
// not indexed.
type Unit struct {
	Title, Authors, Text []string
	// Vector is nil or has Options.Dims values.
	Vector []float32
}
