package httpapi

import (
	"context"

	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
)

// Models reports the settings of the language models to administrators and tests them.
type Models interface {
	Settings(ctx context.Context, actor core.Actor) (ModelSettings, error)
	Test(ctx context.Context, actor core.Actor) (ModelTest, error)
}

// ModelSettings are the settings of the language models, without the key.
type ModelSettings struct {
	// API is "none", "openai" or "anthropic". BaseURL is empty for the provider's own address.
	API, BaseURL string
	HasKey       bool
	// Models are the models that agents may use; the first one is the default.
	Models []ModelPrice
}

// ModelPrice is a model with its price in millionths of a dollar per million tokens. Priced is whether the price is
// configured.
type ModelPrice struct {
	Name    string
	Priced  bool
	In, Out int64
}

// ModelTest is the result of a test. Status is 0 if the provider did not reply.
type ModelTest struct {
	OK              bool
	Status          int
	Milliseconds    int64
	Detail          string
	Models, Missing []string
}

// GetModels answers GET /api/admin/models.
func (h handlers) GetModels(ctx context.Context) (*oas.ModelSettings, error) {
	s, err := h.Models.Settings(ctx, actor(ctx))
	if err != nil {
		return nil, err
	}
	out := &oas.ModelSettings{
		API: s.API, BaseUrl: optional(s.BaseURL), HasKey: s.HasKey, Models: make([]oas.ModelPrice, len(s.Models)),
	}
	for i, m := range s.Models {
		out.Models[i] = oas.ModelPrice{Name: m.Name, Default: i == 0, Priced: m.Priced, InMicros: m.In, OutMicros: m.Out}
	}
	return out, nil
}

// TestModels answers POST /api/admin/models/test.
func (h handlers) TestModels(ctx context.Context) (*oas.ModelTest, error) {
	got, err := h.Models.Test(ctx, actor(ctx))
	if err != nil {
		return nil, err
	}
	out := &oas.ModelTest{
		Ok: got.OK, Milliseconds: got.Milliseconds, Detail: got.Detail,
		Models: emptyNotNull(got.Models), Missing: emptyNotNull(got.Missing),
	}
	if got.Status != 0 {
		out.Status = oas.NewOptInt(got.Status)
	}
	return out, nil
}
