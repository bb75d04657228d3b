package app

import (
	"context"
	"net/http"
	"slices"
	"time"

	"carrel/internal/core"
	"carrel/internal/httpapi"
	"carrel/internal/model"
)

// modelTestTime limits a test of the model provider.
const modelTestTime = 20 * time.Second

// models reports the settings of the language models to administrators. They are settings of the server: a test sends
// its request to no other address than the configured one.
type models struct{ in *App }

// Settings implements httpapi.Models.
func (m models) Settings(_ context.Context, actor core.Actor) (httpapi.ModelSettings, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return httpapi.ModelSettings{}, err
	}
	cfg := m.in.Config.Model
	out := httpapi.ModelSettings{API: cfg.API, BaseURL: cfg.BaseURL, HasKey: cfg.Key != ""}
	configured := prices(cfg)
	for _, name := range m.names() {
		price, known := configured.Of(name)
		out.Models = append(out.Models, httpapi.ModelPrice{
			Name: name, Priced: known, In: int64(price.In), Out: int64(price.Out),
		})
	}
	return out, nil
}

// names returns the models that agents may use, the default first.
func (m models) names() []string {
	cfg := m.in.Config.Model
	if !cfg.On() {
		return nil
	}
	names := []string{cfg.Name}
	for _, name := range cfg.Allowed {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Test implements httpapi.Models.
func (m models) Test(ctx context.Context, actor core.Actor) (httpapi.ModelTest, error) {
	if err := actor.Allow(core.OpAdmin); err != nil {
		return httpapi.ModelTest{}, err
	}
	cfg := m.in.Config.Model
	if !cfg.On() {
		return httpapi.ModelTest{}, core.Conflict("conflict", "No language model is configured.")
	}
	ctx, cancel := context.WithTimeout(ctx, modelTestTime)
	defer cancel()
	begun := time.Now()
	reply, err := model.Probe(ctx, model.Options{API: model.API(cfg.API), BaseURL: cfg.BaseURL, Key: cfg.Key})
	out := httpapi.ModelTest{
		Status: reply.Status, Models: reply.Models, Milliseconds: time.Since(begun).Milliseconds(),
	}
	switch {
	case err != nil: // not quoted, it contains the address
		out.Detail = "The provider does not reply. Check model-base-url, and that it can be reached from the server."
	case reply.Status == http.StatusUnauthorized, reply.Status == http.StatusForbidden:
		out.Detail = "The provider rejects the key. Correct model-api-key."
	case reply.Status == http.StatusNotFound, reply.Status == http.StatusMethodNotAllowed:
		out.Detail = "The provider replies, but has no list of models. Check model-base-url; some servers offer no list."
	case reply.Status != http.StatusOK:
		out.Detail = "The provider replies with an error. See its status page or log."
	default:
		for _, name := range m.names() {
			if !slices.Contains(reply.Models, name) {
				out.Missing = append(out.Missing, name)
			}
		}
		out.OK, out.Detail = true, "The provider replies and offers the configured models."
		if len(out.Missing) > 0 {
			out.OK, out.Detail = false, "The provider does not list every configured model. Check model-name and model-allowed."
		}
	}
	return out, nil
}
