package federated

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"carrel/internal/core"
	"carrel/internal/outbound"
	"carrel/internal/source"
)

// Names returns the names of all kinds, sorted.
func Names() []string { return slices.Sorted(maps.Keys(kinds)) }

// Kinds returns all kinds for the source service.
func (c *Searcher) Kinds() []source.Kind {
	out := make([]source.Kind, 0, len(kinds))
	for _, name := range Names() {
		k := source.Kind{
			Name: name, Federated: true, Paid: kinds[name].paid,
			Check: func(set *source.Settings, secret string) []core.FieldError {
				return c.checkSource(name, set, secret)
			},
		}
		if kinds[name].key != forbidden {
			k.SecretScope = kinds[name].secretScope
		}
		out = append(out, k)
	}
	return out
}

// secretScope binds the key of a source to the origin of its address. A kind with a fixed host needs no scope beyond
// its name: the host is part of the program, and a provider that moves keeps its keys.
func (k kind) secretScope(set source.Settings) string {
	if k.address == forbidden {
		return ""
	}
	return outbound.Origin(set.URL)
}

// Search implements source.Federated.
func (c *Searcher) Search(ctx context.Context, r source.FederatedRequest) (source.FederatedReply, error) {
	found, err := c.searchKind(ctx, r.Kind, settings(r.Settings, r.Secret), Query{
		Text: r.Text, Limit: r.Limit, FromYear: r.FromYear, ToYear: r.ToYear,
	})
	if core.IsKind(err, core.KindInvalid) { // the rules of the installation have changed since the settings were saved
		err = &source.Failure{
			Code: source.WarnSourceRefused, Detail: "The settings of the source are no longer allowed. Change them.",
		}
	}
	return found, err
}

// settings picks the settings that federated kinds use.
func settings(set source.Settings, secret string) Settings {
	return Settings{Address: set.URL, Language: set.Language, Tool: set.Tool, Key: secret}
}

// checkSource trims the settings of a source and validates them. Settings without effect are rejected rather than
// ignored.
func (c *Searcher) checkSource(kind string, set *source.Settings, secret string) []core.FieldError {
	set.URL, set.Language, set.Tool = strings.TrimSpace(set.URL), strings.TrimSpace(
		set.Language,
	), strings.TrimSpace(set.Tool)
	bad := c.settingsErrors(kind, settings(*set, secret))
	ours := source.Settings{URL: set.URL, Language: set.Language, Tool: set.Tool, SyncMinutes: set.SyncMinutes}
	if !reflect.DeepEqual(*set, ours) {
		bad = append(
			bad,
			core.FieldError{Pointer: "/settings", Detail: "Contains settings that this kind of source does not have."},
		)
	}
	return bad
}

// Check validates the settings of a source.
func (c *Searcher) Check(kind string, s Settings) error {
	if bad := c.settingsErrors(kind, s); bad != nil {
		return core.Invalid(bad...)
	}
	return nil
}

// Limits in bytes. The longest language code of Wikipedia has twelve letters.
const (
	maxLanguage = 12
	maxTool     = 200
)

func (c *Searcher) settingsErrors(kind string, s Settings) []core.FieldError {
	k, ok := kinds[kind]
	if !ok {
		return []core.FieldError{{Pointer: "/kind", Detail: "Unknown kind of source."}}
	}
	var bad []core.FieldError
	add := func(pointer, detail string) {
		bad = append(bad, core.FieldError{Pointer: pointer, Detail: detail})
	}
	switch {
	case k.key == required && s.Key == "":
		add("/secret", "This kind of source requires an API key.")
	case k.key == forbidden && s.Key != "":
		add("/secret", "This kind of source takes no API key.")
	case strings.ContainsFunc(s.Key, func(r rune) bool { return r <= ' ' || r > '~' }):
		add("/secret", "Must be printable ASCII without spaces.")
	}
	switch {
	case k.address == forbidden && s.Address != "":
		add("/settings/url", "This kind of source has a fixed address.")
	case k.address == required:
		if detail := outbound.CheckURL(s.Address, c.options.Private); detail != "" {
			add("/settings/url", detail)
		}
	}
	switch {
	case !k.language && s.Language != "":
		add("/settings/language", "This kind of source searches in all languages.")
	case len(s.Language) > maxLanguage ||
		strings.ContainsFunc(s.Language, func(r rune) bool { return (r < 'a' || r > 'z') && r != '-' }):
		add("/settings/language", "Must be a language code, such as en or de.")
	}
	switch {
	case !k.tool && s.Tool != "":
		add("/settings/tool", "This kind of source has no tools.")
	case len(s.Tool) > maxTool || core.HasNUL(s.Tool):
		add("/settings/tool", "Must be a tool name of at most 200 bytes.")
	}
	return bad
}
