package source_test

import (
	"slices"
	"strings"
	"testing"

	"carrel/internal/core"
	"carrel/internal/source"
)

// secretCase describes how the secret of a kind is bound to its receiver. Every kind needs one.
type secretCase struct {
	// takesNone is set for a kind that refuses a secret.
	takesNone bool
	// settings are valid settings of the kind.
	settings source.Settings
	// same are settings with the same secret scope, other ones with another scope.
	same, other map[string]source.Settings
	// required is set for a kind that requires a secret, so that dropping it is an error 400.
	required bool
}

func address(u string) source.Settings { return source.Settings{URL: u} }

func bucketSettings(change func(*source.Settings)) source.Settings {
	set := source.Settings{
		Bucket: "papers", Region: "eu-central-1", Endpoint: "https://store.example.org", AccessKeyID: "AKIAEXAMPLE",
	}
	if change != nil {
		change(&set)
	}
	return set
}

func endpoint(u string) source.Settings {
	return bucketSettings(func(s *source.Settings) { s.Endpoint = u })
}

var secretCases = map[string]secretCase{
	"upload":          {takesNone: true},
	"folder":          {takesNone: true, settings: source.Settings{Path: "/srv/papers"}},
	"web":             {takesNone: true, settings: source.Settings{URLs: []string{"https://example.org/"}}},
	"feed":            {takesNone: true, settings: address("https://example.org/feed")},
	"crossref":        {takesNone: true},
	"arxiv":           {takesNone: true},
	"europepmc":       {takesNone: true},
	"wikipedia":       {takesNone: true},
	"searxng":         {takesNone: true, settings: address("https://example.org")},
	"openalex":        {},
	"semanticscholar": {},
	"pubmed":          {},
	"core":            {},
	"brave":           {},
	"tavily":          {},
	"exa":             {},
	"mcp": {
		settings: address("https://wiki.example.org/mcp"),
		same: map[string]source.Settings{
			"other path":            address("https://wiki.example.org/v2/mcp?x=1"),
			"other tool":            {URL: "https://wiki.example.org/mcp", Tool: "find"},
			"capital letters":       address("HTTPS://WIKI.Example.ORG/mcp"),
			"default port":          address("https://wiki.example.org:443/mcp"),
			"trailing dot":          address("https://wiki.example.org./mcp"),
			"surrounding spaces":    address("  https://wiki.example.org/mcp "),
			"all spellings at once": address("hTTps://Wiki.example.org.:443"),
		},
		other: map[string]source.Settings{
			"other scheme":            address("http://wiki.example.org/mcp"),
			"other scheme, same port": address("http://wiki.example.org:443/mcp"),
			"other host":              address("https://evil.example/mcp"),
			"subdomain":               address("https://x.wiki.example.org/mcp"),
			"parent domain":           address("https://example.org/mcp"),
			"other port":              address("https://wiki.example.org:8443/mcp"),
			"an IP address":           address("https://192.168.1.1/mcp"),
		},
	},
	"zotero": {
		settings: address("https://api.zotero.org"),
		same: map[string]source.Settings{
			"default address":  {},
			"other library":    {Library: "groups/2510000"},
			"other collection": {Collection: "Thesis"},
			"other path":       address("https://api.zotero.org/v3"),
			"capital letters":  address("https://API.zotero.org"),
			"default port":     address("https://api.zotero.org:443"),
			"trailing dot":     address("https://api.zotero.org."),
		},
		other: map[string]source.Settings{
			"other scheme": {URL: "http://api.zotero.org", Library: "users/1"},
			"other host":   {URL: "https://evil.example", Library: "users/1"},
			"subdomain":    {URL: "https://x.api.zotero.org", Library: "users/1"},
			"other port":   {URL: "https://api.zotero.org:8443", Library: "users/1"},
			"local API":    address("http://localhost:23119/api"),
		},
	},
	"s3": {
		settings: bucketSettings(nil), required: true,
		same: map[string]source.Settings{
			"other prefix":    bucketSettings(func(s *source.Settings) { s.Prefix = "2026/" }),
			"other schedule":  bucketSettings(func(s *source.Settings) { s.SyncMinutes = 60 }),
			"other region":    bucketSettings(func(s *source.Settings) { s.Region = "us-east-1" }),
			"trailing slash":  endpoint("https://store.example.org/"),
			"capital letters": endpoint("https://STORE.example.org"),
			"default port":    endpoint("https://store.example.org:443"),
			"trailing dot":    endpoint("https://store.example.org."),
		},
		other: map[string]source.Settings{
			"other scheme":     endpoint("http://store.example.org"),
			"other host":       endpoint("https://evil.example"),
			"other port":       endpoint("https://store.example.org:9000"),
			"Amazon":           endpoint(""),
			"other bucket":     bucketSettings(func(s *source.Settings) { s.Bucket = "others" }),
			"other access key": bucketSettings(func(s *source.Settings) { s.AccessKeyID = "AKIAOTHER" }),
		},
	},
}

const keptSecret = "the-secret-of-the-source"

// newSecretFixture returns a federatedFixture whose actor may create sources of every kind, including folders.
func newSecretFixture(t *testing.T) *federatedFixture {
	t.Helper()
	w := newFederatedFixture(t)
	w.ada.Role, w.ada.Scopes = core.RoleOwner, append(w.ada.Scopes, core.ScopeAdmin)
	return w
}

// A new kind without a row in secretCases fails this test.
func TestEveryKindHasASecretCase(t *testing.T) {
	t.Parallel()
	w := newSecretFixture(t)
	seen := map[string]bool{}
	for _, k := range w.deps.Kinds {
		c, ok := secretCases[k.Name]
		seen[k.Name] = true
		if !ok {
			t.Errorf("%s has no entry in secretCases", k.Name)
			continue
		}
		if c.takesNone != (k.SecretScope == nil) {
			t.Errorf("%s: SecretScope is set: %v", k.Name, k.SecretScope != nil)
		}
		src, err := w.Add(t.Context(), w.ada, w.agent, source.New{
			Name: k.Name, Kind: k.Name, Settings: c.settings, Secret: keptSecret,
		})
		switch fields := core.AsError(err); {
		case c.takesNone:
			if err == nil || len(fields.Fields) == 0 || fields.Fields[0].Pointer != "/secret" {
				t.Errorf("%s accepted a secret: %v", k.Name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", k.Name, err)
		default:
			if got, err := w.Secret(src); got != keptSecret || err != nil || !w.HasSecret(src) {
				t.Errorf("%s: %q, %v", k.Name, got, err)
			}
			// A kind with an address must define which addresses share a scope.
			if taken := c.settings; (taken.URL != "" || taken.Endpoint != "") && (len(c.same) < 5 || len(c.other) < 5) {
				t.Errorf("%s takes an address and has %d and %d cases", k.Name, len(c.same), len(c.other))
			}
		}
	}
	for name := range secretCases {
		if !seen[name] {
			t.Errorf("unknown kind %s", name)
		}
	}
}

func TestSecretIsDroppedWhenItsReceiverChanges(t *testing.T) {
	t.Parallel()
	w, ctx := newSecretFixture(t), t.Context()
	replacement := "a-new-secret"
	for kind, c := range secretCases {
		if c.takesNone {
			continue
		}
		add := func() source.Source {
			return w.add(t, source.New{Kind: kind, Settings: c.settings, Secret: keptSecret})
		}
		for name, set := range c.same {
			got, err := w.Change(ctx, w.ada, w.agent, add().ID, source.Change{Settings: &set})
			if secret, _ := w.Secret(got); err != nil || secret != keptSecret || got.SecretRemoved {
				t.Errorf("%s, %s: the secret was not kept: %v", kind, name, err)
			}
		}
		for name, set := range c.other {
			src := add()
			got, err := w.Change(ctx, w.ada, w.agent, src.ID, source.Change{Settings: &set})
			if c.required && set.AccessKeyID != "" {
				if e := core.AsError(err); e == nil || e.Kind != core.KindInvalid || e.Fields[0].Pointer != "/secret" {
					t.Errorf("%s, %s: %v, want an error for /secret", kind, name, err)
				}
				got, err = w.Get(ctx, w.ada, w.agent, src.ID)
				if secret, _ := w.Secret(got); err != nil || secret != keptSecret || got.Settings != src.Settings {
					t.Errorf("%s, %s: a refused change had an effect: %+v", kind, name, got)
				}
			} else if secret, _ := w.Secret(got); err != nil || secret != "" || w.HasSecret(got) || !got.SecretRemoved ||
				got.Sealed != nil {
				t.Errorf("%s, %s: the secret is sent to another receiver: %q, %v", kind, name, secret, err)
			}
			got, err = w.Change(ctx, w.ada, w.agent, add().ID, source.Change{Settings: &set, Secret: &replacement})
			if secret, _ := w.Secret(got); err != nil || secret != replacement || got.SecretRemoved {
				t.Errorf("%s, %s: with a new secret: %q, %v", kind, name, secret, err)
			}
		}
	}
}

// The test changes rows directly, as SQL or a manipulated backup could.
func TestSecretDoesNotDecryptForAnotherReceiver(t *testing.T) {
	t.Parallel()
	w, ctx := newSecretFixture(t), t.Context()
	for kind, c := range secretCases {
		for name, set := range c.other {
			src := w.add(t, source.New{Kind: kind, Settings: c.settings, Secret: keptSecret})
			forged := w.add(t, source.New{Kind: kind, Settings: set, Secret: keptSecret})
			src.Settings = forged.Settings
			if err := w.db.UpdateSource(ctx, src); err != nil {
				t.Fatal(err)
			}
			src, err := w.Get(ctx, w.ada, w.agent, src.ID)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := w.Secret(src); got != "" || err == nil || w.HasSecret(src) {
				t.Errorf("%s, %s: opened as %q", kind, name, got)
			}
			if err := w.BindSecrets(ctx); err != nil {
				t.Fatal(err)
			}
			if src, err = w.Get(ctx, w.ada, w.agent, src.ID); err != nil || w.HasSecret(src) {
				t.Errorf("%s, %s: BindSecrets bound it to the new receiver: %v", kind, name, err)
			}
		}
	}
}

// Earlier versions encrypted a secret with the id of the source as its only associated data.
func TestSecretsOfEarlierVersionsAreBoundAtStartup(t *testing.T) {
	t.Parallel()
	w, ctx := newSecretFixture(t), t.Context()
	src := w.add(t, source.New{Kind: "mcp", Settings: address("https://wiki.example.org/mcp"), Secret: "x"})
	old := w.deps.Sealer.Seal([]byte(keptSecret), src.ID)
	src.Sealed = old
	if err := w.db.UpdateSource(ctx, src); err != nil {
		t.Fatal(err)
	}
	if got, err := w.Secret(src); got != keptSecret || err != nil {
		t.Fatalf("before it is bound: %q, %v", got, err)
	}
	if err := w.BindSecrets(ctx); err != nil {
		t.Fatal(err)
	}
	src, err := w.Get(ctx, w.ada, w.agent, src.ID)
	if err != nil || slices.Equal(src.Sealed, old) {
		t.Fatalf("it is not bound: %v", err)
	}
	if got, err := w.Secret(src); got != keptSecret || err != nil {
		t.Errorf("bound: %q, %v", got, err)
	}
	src.Settings = strings.ReplaceAll(src.Settings, "wiki", "evil")
	if got, err := w.Secret(src); got != "" || err == nil {
		t.Errorf("for another host: %q, %v", got, err)
	}
	// A second start changes nothing.
	bound := src.Sealed
	if err := w.BindSecrets(ctx); err != nil {
		t.Fatal(err)
	}
	if src, err = w.Get(ctx, w.ada, w.agent, src.ID); err != nil || !slices.Equal(src.Sealed, bound) {
		t.Errorf("it was bound twice: %v", err)
	}
}

// All kinds share one address parser.
func TestAddressesWithPasswordsAreRejected(t *testing.T) {
	t.Parallel()
	w := newSecretFixture(t)
	for _, k := range w.deps.Kinds {
		valid := secretCases[k.Name].settings
		for _, host := range []string{
			"user:pass@example.org", "user@example.org", ":pass@example.org", "@example.org", "user:pass@example.org:8443",
			"%75ser:p%40ss@example.org",
		} {
			for _, scheme := range []string{"http", "https", "HTTPS"} {
				a := scheme + "://" + host
				set := valid
				switch {
				case len(set.URLs) > 0:
					set.URLs = append(slices.Clone(set.URLs), a)
				case set.Endpoint != "":
					set.Endpoint = a
				default:
					set.URL = a // kinds without an address refuse any
				}
				bad := k.Check(&set, keptSecret)
				takesAddress := valid.URL != "" || valid.URLs != nil || valid.Endpoint != "" || k.Federated
				if takesAddress && len(bad) == 0 {
					t.Errorf("%s takes %s", k.Name, a)
				}
				for _, f := range bad {
					if strings.Contains(f.Detail, "pass@") || strings.Contains(f.Detail, host) {
						t.Errorf("%s repeats the password: %s", k.Name, f.Detail)
					}
				}
			}
		}
	}
}
