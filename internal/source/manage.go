package source

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/core"
	"carrel/internal/outbound"
)

// The kinds of sources whose documents are stored here.
const (
	KindUpload = "upload"
	KindFolder = "folder"
	KindWeb    = "web"
	KindFeed   = "feed"
	KindS3     = "s3"
)

// Settings say what a source is made of. Which of them count depends on its kind.
type Settings struct {
	// Path is the folder on the server that a folder source reads.
	Path string `json:"path,omitempty"`
	// URLs are the pages of a web source.
	URLs []string `json:"urls,omitempty"`
	// URL is the address of a feed, or of a server that is searched live.
	URL string `json:"url,omitempty"`
	// Bucket is the name of an S3 bucket, and Prefix what the keys of its objects begin with that are read.
	Bucket string `json:"bucket,omitempty"`
	Prefix string `json:"prefix,omitempty"`
	// Region is where the bucket is, and Endpoint the address of a store that is not Amazon's.
	Region   string `json:"region,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	// AccessKeyID is the name of the key that the source's secret belongs to.
	AccessKeyID string `json:"accessKeyId,omitempty"`
	// Language is that of the encyclopaedia or of what is searched for, an ISO 639 code; empty is English, or any.
	Language string `json:"language,omitempty"`
	// Tool is the tool of an MCP server that searches; empty is the one that looks like it.
	Tool string `json:"tool,omitempty"`
	// SyncMinutes is how often it is brought up to date by itself; 0 leaves that to people.
	SyncMinutes int `json:"syncMinutes,omitempty"`
}

// Kind is a sort of source.
type Kind struct {
	Name string
	// Syncs says that it is made of something that can be read again.
	Syncs bool
	// Admin says that only those who run the installation may make one: it reaches what is theirs.
	Admin bool
	// Live says that it is asked at question time, and Paid that each search costs its owner money.
	Federated, Paid bool
	// Check trims the settings and returns what is wrong with them and the secret, by the names of the fields.
	Check func(set *Settings, secret string) []core.FieldError
	// SecretScope names the receiver of the secret: the origin of an address, the bucket and key of a store, or the
	// kind alone where its host is part of the program. A secret is kept only while this stays the same, and is
	// sealed with it. It is nil for a kind that takes no secret.
	SecretScope func(set Settings) string
}

// StoredKinds are the kinds whose documents are stored here.
func StoredKinds() []Kind {
	return []Kind{
		{Name: KindUpload, Check: func(*Settings, string) []core.FieldError { return nil }},
		{Name: KindFolder, Syncs: true, Admin: true, Check: checkFolder},
		{Name: KindWeb, Syncs: true, Check: checkWeb},
		{Name: KindFeed, Syncs: true, Check: checkFeed},
		{Name: KindS3, Syncs: true, Check: checkBucket, SecretScope: s3SecretScope},
	}
}

const (
	maxAddress     = 4096
	maxAddresses   = 500
	minSyncMinutes = 5
	maxSyncMinutes = 60 * 24 * 31
)

func checkFolder(s *Settings, _ string) []core.FieldError {
	s.Path = strings.TrimSpace(s.Path)
	if s.Path == "" || !strings.HasPrefix(s.Path, "/") && !strings.Contains(s.Path, `:\`) || core.HasNUL(s.Path) {
		return []core.FieldError{{Pointer: "/settings/path", Detail: "Must be the whole path of a folder on the server."}}
	}
	return nil
}

func checkWeb(s *Settings, _ string) []core.FieldError {
	if len(s.URLs) == 0 || len(s.URLs) > maxAddresses {
		return []core.FieldError{{Pointer: "/settings/urls", Detail: "Must list 1 to 500 addresses of pages."}}
	}
	for i := range s.URLs {
		s.URLs[i] = strings.TrimSpace(s.URLs[i])
		if detail := outbound.CheckAddress(s.URLs[i], pageAddress); detail != "" {
			return []core.FieldError{{Pointer: "/settings/urls/" + strconv.Itoa(i), Detail: detail}}
		}
	}
	slices.Sort(s.URLs)
	s.URLs = slices.Compact(s.URLs)
	return nil
}

func checkFeed(s *Settings, _ string) []core.FieldError {
	s.URL = strings.TrimSpace(s.URL)
	if detail := outbound.CheckAddress(s.URL, pageAddress); detail != "" {
		return []core.FieldError{{Pointer: "/settings/url", Detail: detail}}
	}
	return nil
}

// pageAddress are the rules for pages and feeds. No secret is sent to them, so plain HTTP is allowed; whether a private
// host may be reached is decided by the client at each connection.
var pageAddress = outbound.AddressRules{PlainHTTP: true, Private: true, Fragment: true, MaxLength: maxAddress}

// kind returns a kind by its name.
func (s *Service) kind(name string) (Kind, bool) {
	i := slices.IndexFunc(s.options.Kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return s.options.Kinds[i], true
}

// Syncs reports whether a source is made of something that can be read again.
func (s *Service) Syncs(src Source) bool {
	k, _ := s.kind(src.Kind)
	return k.Syncs
}

// SettingsOf returns the settings of a source.
func (src Source) SettingsOf() (Settings, error) {
	var out Settings
	if src.Settings == "" {
		return out, nil
	}
	err := json.Unmarshal([]byte(src.Settings), &out)
	return out, err
}

// settings checks the settings and the secret of a kind and returns the settings as they are kept.
func (s *Service) checkSettings(k Kind, set Settings, secret string) (string, []core.FieldError) {
	bad := k.Check(&set, secret)
	if n := set.SyncMinutes; n != 0 && (!k.Syncs || n < minSyncMinutes || n > maxSyncMinutes) {
		bad = append(bad, core.FieldError{
			Pointer: "/settings/syncMinutes", Detail: "Must be 5 to 44640 for a source that can be synced, and 0 for others.",
		})
	}
	aboutSecret := func(f core.FieldError) bool { return f.Pointer == "/secret" }
	if secret != "" && k.SecretScope == nil && !slices.ContainsFunc(bad, aboutSecret) {
		bad = append(bad, core.FieldError{Pointer: "/secret", Detail: "This kind of source takes no secret."})
	}
	kept, _ := json.Marshal(set) // strings and numbers
	if string(kept) == "{}" {
		return "", bad
	}
	return string(kept), bad
}

// nextSync is when a source with these settings is due.
func nextSync(set Settings, now time.Time) *time.Time {
	if set.SyncMinutes == 0 {
		return nil
	}
	at := now.Add(time.Duration(set.SyncMinutes) * time.Minute)
	return &at
}

// List returns the sources of an agent, oldest first.
func (s *Service) List(ctx context.Context, actor core.Actor, agentID string) ([]Source, error) {
	if err := s.agents.Allow(ctx, actor, core.OpListSources, agentID); err != nil {
		return nil, err
	}
	return s.store.Sources(ctx, actor.UserID, agentID)
}

// Get returns one source of an agent.
func (s *Service) Get(ctx context.Context, actor core.Actor, agentID, sourceID string) (Source, error) {
	return s.For(ctx, actor, core.OpGetSource, agentID, sourceID)
}

// For returns a source for an operation on it or on what is in it, after it has asked whether the actor may carry that
// operation out on the agent. A source that reaches what belongs to the installation is changed by its administrators
// alone.
func (s *Service) For(ctx context.Context, actor core.Actor, op core.Operation, agentID, sourceID string) (Source, error) {
	if err := s.agents.Allow(ctx, actor, op, agentID); err != nil {
		return Source{}, err
	}
	sources, err := s.store.Sources(ctx, actor.UserID, agentID)
	if err != nil {
		return Source{}, err
	}
	i := slices.IndexFunc(sources, func(src Source) bool { return src.ID == sourceID })
	if i < 0 {
		return Source{}, core.NotFound("source")
	}
	rule, _ := op.Rule()
	if k, _ := s.kind(sources[i].Kind); k.Admin && rule.Access >= core.AccessManage {
		return sources[i], allowAdmin(actor)
	}
	return sources[i], nil
}

// mayAdmin asks for somebody who runs the installation, with a credential made for that: a program that was let in to
// search must not be able to read the server's disk.
func allowAdmin(actor core.Actor) error { return actor.Allow(core.OpAdmin) }

// Change is what is to be different about a source; nil leaves a thing as it is.
type Change struct {
	Name, Language *string
	// Default can only be made true: another source is made the default instead.
	Default  bool
	Settings *Settings
	// Secret replaces the source's secret; an empty one removes it. Without it the secret is kept unless the settings
	// name another receiver for it; see Kind.SecretScope.
	Secret *string
}

// Change changes a source.
func (s *Service) Change(ctx context.Context, actor core.Actor, agentID, sourceID string, c Change) (Source, error) {
	src, err := s.For(ctx, actor, core.OpChangeSource, agentID, sourceID)
	if err != nil {
		return Source{}, err
	}
	if err := s.applyChange(&src, c); err != nil {
		return Source{}, err
	}
	if err := s.store.UpdateSource(ctx, src); err != nil {
		return Source{}, err
	}
	language := ""
	if c.Language != nil {
		language = *c.Language
	}
	removed := src.SecretRemoved
	if _, err = s.applyDefaultAndLanguage(ctx, src, New{Default: c.Default, Language: language}); err != nil {
		return Source{}, err
	}
	src, err = s.Get(ctx, actor, agentID, sourceID)
	src.SecretRemoved = removed
	return src, err
}

// apply puts a change into a source, or says what is wrong with it.
func (s *Service) applyChange(src *Source, c Change) error {
	var bad []core.FieldError
	if c.Name != nil {
		src.Name = strings.TrimSpace(*c.Name)
		if detail := nameRule.Check(src.Name); detail != "" {
			bad = append(bad, core.FieldError{Pointer: "/name", Detail: detail})
		}
	}
	if c.Language != nil {
		if detail := s.checkLanguage(*c.Language); detail != "" {
			bad = append(bad, core.FieldError{Pointer: "/language", Detail: detail})
		}
	}
	src.UpdatedAt = s.clock.Now()
	wrong, err := s.applySettings(src, c)
	if err != nil {
		return err
	}
	bad = append(bad, wrong...)
	if bad != nil {
		return core.Invalid(bad...)
	}
	return nil
}

// Delete removes a source with its documents. The default can go only when a successor takes its place.
func (s *Service) Delete(ctx context.Context, actor core.Actor, agentID, sourceID, successorID string) error {
	src, err := s.For(ctx, actor, core.OpDeleteSource, agentID, sourceID)
	if err != nil {
		return err
	}
	if successorID != "" {
		if _, err := s.Get(ctx, actor, agentID, successorID); err != nil || successorID == sourceID {
			return core.InvalidField("successor", "Must be another source of this agent.")
		}
	}
	if src.Default && successorID == "" {
		return core.Conflict("conflict", "This is the agent's default source. Name the one that takes its place: ?successor=ID.")
	}
	return s.store.DeleteSource(ctx, agentID, sourceID, successorID)
}
