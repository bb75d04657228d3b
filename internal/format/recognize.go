package format

import (
	"context"
	"errors"
)

// Recognizer reads the text of an image (OCR); see package ocr.
type Recognizer interface {
	// Recognize returns the text of a JPEG, PNG or TIFF image. Its error may wrap a Reason.
	Recognize(ctx context.Context, mediaType string, data []byte) (string, error)
}

// Reason is an error of a Recognizer with a text for users, which completes "text recognition failed: ".
type Reason string

// Error returns the reason.
func (r Reason) Error() string { return string(r) }

// recognitionReason returns the text for users of an error of a Recognizer.
func recognitionReason(err error) string {
	if r, is := errors.AsType[Reason](err); is {
		return string(r)
	}
	return "an internal error occurred"
}

// recognizerKey is the key of the Recognizer in the context of a reading. Parsers receive a budget only, and its
// context reaches the one that needs it.
type recognizerKey struct{}

func withRecognizer(ctx context.Context, r Recognizer) context.Context {
	if r == nil {
		return ctx
	}
	return context.WithValue(ctx, recognizerKey{}, r)
}

func recognizerOf(ctx context.Context) Recognizer {
	r, _ := ctx.Value(recognizerKey{}).(Recognizer)
	return r
}
