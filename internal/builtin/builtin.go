// Package builtin runs two small models inside the binary, without a service and without cgo:
//
//   - [Embed] maps a text to a vector: the mean of static vectors of its tokens.
//   - [Rank] scores how well sentences answer a question, with a transformer of four layers.
//
// Both share a WordPiece vocabulary and its word embeddings. The weights are embedded into the binary (weights.bin,
// made by recipe/convert.py) and are used in place where possible: nothing is loaded before the first call, and the
// matrices of the ranker stay 8-bit integers until a product needs them.
//
// Static vectors are computed with integers and with floating-point operations that round the same way everywhere, so
// the vector of a text is the same on all machines and nodes may compare theirs. The ranker uses the fastest kernels of
// the processor, and its logits may differ by about 1e-5 between processors.
package builtin

import (
	_ "embed"
	"sync"
)

// Dimensions is the length of the vectors that [Embed] returns.
const Dimensions = 256

// VectorModel names the static vectors. Stored vectors carry it; it changes whenever the vectors of texts change.
const VectorModel = "carrel-static-1"

// weightsFile is a string, so that it stays in the read-only part of the binary.
//
//go:embed weights.bin
var weightsFile string

// Notice tells where the models come from and under which licences their base and training data are.
//
//go:embed NOTICE
var Notice string

var (
	defaultTokenizer = sync.OnceValues(func() (*tokenizer, error) {
		w, err := openWeights(weightsFile)
		if err != nil {
			return nil, err
		}
		return newTokenizer(w)
	})
	defaultStatic = sync.OnceValues(func() (*staticModel, error) {
		tok, err := defaultTokenizer()
		if err != nil {
			return nil, err
		}
		w, err := openWeights(weightsFile)
		if err != nil {
			return nil, err
		}
		return newStaticModel(w, tok, bestKernel)
	})
)

// Embed returns the unit vectors of texts. The vector of a text without tokens is nil. One call with many texts is
// faster than many calls, because words that are met for the first time are computed together. Embed is safe for
// concurrent use. It panics if the weights in the binary are damaged.
func Embed(texts ...string) [][]float32 {
	m, err := defaultStatic()
	if err != nil {
		panic(err)
	}
	return m.embed(texts)
}

// Fast reports whether the processor's vector instructions are used. [Rank] is about twenty times slower without them.
func Fast() bool { return bestKernel.fast }
