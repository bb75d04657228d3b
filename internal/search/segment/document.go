package segment

// Document is one to be written.
type Document struct {
	ID, SourceID string
	// Seq is the number of the document's latest change. A segment's documents
	// are sorted by (SourceID, Seq).
	Seq uint64
	// Year is 0 for an undated document and at most 9999.
	Year int
	// TitleKey and DOIKey are hashes made by the caller, 0 for none.
	TitleKey, DOIKey uint64
	// Units are what is scored: one for a short document, its passages for a long one.
	Units []Unit
}

// Unit is a part of a document that is scored by itself: its terms in order.
// An empty term is the place of a word that is not indexed.
type Unit struct {
	Title, Authors, Text []string
	// Vector is nil or Options.Dims long.
	Vector []float32
}
