package config_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"carrel/internal/config"
)

// sample is a setting with valid and invalid values.
type sample struct {
	value string            // valid and not the default
	shown string            // value as `carrel config` prints it; empty means like value
	bad   string            // invalid; empty if every value is valid
	with  map[string]string // valid settings that value needs
}

// samples has every setting. Installations rely on the names, so removing or renaming a setting must fail a test.
func samples(t *testing.T) map[string]sample {
	t.Helper()
	pem, pem2 := write(t, "1.pem", "x"), write(t, "2.pem", "x")
	tls := map[string]string{"tls-cert": pem, "tls-key": pem}
	pooler := map[string]string{"database": "postgres://pooler.example/x"}
	prices := map[string]string{"model-price-in": "1", "model-price-out": "10"}
	hosted := map[string]string{"model": "openai", "model-name": "m", "model-api-key": "secret-2"}
	openAI := map[string]string{"model": "openai", "model-name": "m", "model-base-url": "http://localhost:1/v1"}
	issuer := map[string]string{"oidc-issuer": "https://login.example.org", "oidc-client-id": "carrel"}
	stripe := map[string]string{"stripe-secret-key": "sk_1", "stripe-webhook-secret": "whsec_1"}
	embeddings := map[string]string{"embeddings-url": "https://a.example/v1", "embeddings-model": "e"}
	bucket := map[string]string{
		"originals-bucket": "carrel", "originals-access-key-id": "k", "originals-secret-access-key": "s",
	}
	store := map[string]string{
		"backup": "s3://carrel", "backup-access-key-id": "k", "backup-secret-access-key": "s",
	}
	cluster := map[string]string{
		"search-url": "https://a.example:9200", "search-user": "u", "search-password": "p",
	}
	return map[string]sample{
		"addr":                       {value: "127.0.0.1:9", bad: "127.0.0.1"},
		"data":                       {value: t.TempDir()},
		"base-url":                   {value: "https://a.example/x", bad: "a.example"},
		"database":                   {value: "postgres://db.example/x", bad: "mysql://db.example/x"},
		"database-direct":            {value: "postgres://db.example/y", bad: "db.example", with: pooler},
		"database-connections":       {value: "5", bad: "1"},
		"database-statement-timeout": {value: "5s", bad: "11m"},
		"tls-cert":                   {value: pem2, bad: "/nowhere", with: tls},
		"tls-key":                    {value: pem2, bad: "/nowhere", with: tls},
		"acme-domains": {
			value: "A.example.org, b.example.org", shown: "a.example.org,b.example.org", bad: "*.example.org",
		},
		"acme-email":     {value: "a@example.org", bad: "a"},
		"acme-directory": {value: "https://ca.example/dir", bad: "http://ca.example/dir"},
		"redirect-addr":  {value: "127.0.0.1:80", bad: "80", with: tls},
		"cors-origins": {
			value: "https://A.example.org, http://localhost:3000", shown: "https://a.example.org,http://localhost:3000",
			bad: "https://a.example.org/path",
		},
		"demo":                        {value: "true", bad: "maybe"},
		"metrics-addr":                {value: "127.0.0.1:9090", bad: "9090"},
		"otlp-url":                    {value: "https://otel.example.org/x", bad: "https://otel.example.org/v1/traces"},
		"otlp-headers":                {value: "X-Key: secret-1", shown: "[redacted]", bad: "no colon"},
		"otlp-sample":                 {value: "0.25", bad: "1.5"},
		"otlp-interval":               {value: "10s", bad: "1ms"},
		"ready-while-indexing":        {value: "on", bad: "yes"},
		"log-level":                   {value: "WARN", shown: "warn", bad: "loud"},
		"log-format":                  {value: "json", bad: "xml"},
		"turn-wait":                   {value: "90s", shown: "1m30s", bad: "90"},
		"key-prefix":                  {value: "abc", bad: "a_b"},
		"code-prefix":                 {value: "abcd", bad: "a_b"},
		"rate-limits":                 {value: "off", bad: "never"},
		"event-streams":               {value: "7", bad: "0"},
		"contact":                     {value: "library@example.org", bad: "Library <library@example.org>"},
		"complete-metadata":           {value: "on", bad: "yes", with: map[string]string{"contact": "a@example.org"}},
		"outbound-private":            {value: "on", bad: "yes"},
		"zotero-storage":              {value: "/home/ada/Zotero/storage", bad: "Zotero/storage"},
		"trusted-proxies":             {value: "10.1.2.3/8, ::1", shown: "10.0.0.0/8,::1/128", bad: "proxy.example"},
		"shutdown-timeout":            {value: "1s", bad: "11m"},
		"keep-task-days":              {value: "7", bad: "0"},
		"keep-ledger-days":            {value: "0", bad: "-1"},
		"keep-audit-days":             {value: "90", bad: "36501"},
		"bin-days":                    {value: "0", bad: "36501"},
		"turns-per-user":              {value: "3", bad: "-1"},
		"turns-per-node":              {value: "5", bad: "10001"},
		"imports-per-user":            {value: "3", bad: "0"},
		"imports-per-node":            {value: "5", bad: "1001"},
		"import-unpacked-mib":         {value: "16", bad: "15"},
		"import-entries":              {value: "10", bad: "0"},
		"import-depth":                {value: "1", bad: "101"},
		"import-work":                 {value: "10", bad: "9"},
		"import-memory-mib":           {value: "64", bad: "63"},
		"import-time":                 {value: "24h", shown: "24h0m0s", bad: "999ms"},
		"ocr":                         {value: "https://ocr.example.org/read", bad: "scan"},
		"ocr-key":                     {value: "secret-1", shown: "[redacted]", bad: "k k"},
		"ocr-languages":               {value: "eng+deu", bad: "eng;deu"},
		"ocr-time":                    {value: "30s", bad: "0"},
		"originals":                   {value: "off", bad: "no"},
		"originals-bucket":            {value: "my-library", bad: "My_Library", with: bucket},
		"originals-endpoint":          {value: "https://minio.example.org", bad: "https://a.example/path", with: bucket},
		"originals-region":            {value: "eu-central-1", bad: "EU"},
		"originals-prefix":            {value: "carrel/originals/", bad: "../", with: bucket},
		"originals-access-key-id":     {value: "other", bad: "k k", with: bucket},
		"originals-secret-access-key": {value: "secret-1", shown: "[redacted]", bad: "k k", with: bucket},
		"backup":                      {value: "s3://library/carrel/", bad: "s3://Library/..", with: store},
		"backup-every":                {value: "6h", shown: "6h0m0s", bad: "59s"},
		"backup-keep":                 {value: "30", bad: "0"},
		"backup-endpoint":             {value: "https://minio.example.org", bad: "minio", with: store},
		"backup-region":               {value: "eu-central-1", bad: "EU"},
		"backup-access-key-id":        {value: "other", bad: "k k", with: store},
		"backup-secret-access-key":    {value: "secret-1", shown: "[redacted]", bad: "k k", with: store},
		"export-days":                 {value: "365", bad: "366"},
		"secret-key":                  {value: strings.Repeat("k", 32), shown: "[redacted]", bad: strings.Repeat("k", 31)},
		"secret-key-previous": {
			value: strings.Repeat("k", 32) + "," + strings.Repeat("l", 40), shown: "[redacted]", bad: strings.Repeat("k", 31),
		},
		"search-url":            {value: "https://a.example:9200,https://b.example:9200", bad: "https://user:word@a.example"},
		"search-user":           {value: "carrel", bad: "a:b", with: cluster},
		"search-password":       {value: "secret-1", shown: "[redacted]", bad: "a\tb", with: cluster},
		"search-ca-file":        {value: pem2, bad: "/nowhere", with: cluster},
		"search-shards":         {value: "3", bad: "0"},
		"search-replicas":       {value: "2", bad: "11"},
		"embeddings":            {value: "off", bad: "openai"},
		"embeddings-weight":     {value: "0.25", bad: "0"},
		"embeddings-url":        {value: "https://b.example/v1", bad: "b.example/v1", with: embeddings},
		"embeddings-model":      {value: "other", bad: " other", with: embeddings},
		"embeddings-api-key":    {value: "secret-1", shown: "[redacted]", bad: "k k", with: embeddings},
		"embeddings-dimensions": {value: "8192", bad: "8193"},
		"embeddings-price":      {value: "0.02", bad: "-1"},
		"model":                 {value: "anthropic", bad: "gemini", with: hosted},
		"model-base-url":        {value: "http://localhost:2/v1", bad: "localhost:2", with: openAI},
		"model-api-key":         {value: "secret-1", shown: "[redacted]", bad: "k k", with: openAI},
		"model-name":            {value: "n", bad: " n", with: openAI},
		"model-allowed":         {value: "b, a ,b", shown: "b,a", bad: "a\x00", with: openAI},
		"model-price-in":        {value: "2.50", shown: "2.5", bad: "2,50", with: prices},
		"model-price-out":       {value: "0", bad: "1e3", with: prices},
		"model-prices":          {value: "m=2.50/10,l:8b=0/0", shown: "l:8b=0/0,m=2.5/10", bad: "m=2.50"},
		"model-idle-time":       {value: "90s", shown: "1m30s", bad: "90"},
		"model-judge":           {value: "off", bad: "no"},
		"turn-time":             {value: "90s", shown: "1m30s", bad: "90"},
		"research-time":         {value: "20m", shown: "20m0s", bad: "20"},
		"search-prices":         {value: "exa=1", shown: "brave=0.005,exa=1,tavily=0.008", bad: "bing=1"},
		"share-links":           {value: "off", bad: "no"},
		"totp":                  {value: "off", bad: "no"},
		"oidc-issuer":           {value: "https://id.example.org/realm", bad: "http://id.example.org", with: issuer},
		"oidc-client-id":        {value: "other", bad: "o ther", with: issuer},
		"oidc-client-secret":    {value: "s3cret", shown: "[redacted]", bad: "s3 cret", with: issuer},
		"oidc-name":             {value: "Example University", bad: strings.Repeat("x", 41), with: issuer},
		"oidc-signup":           {value: "true", bad: "on request", with: issuer},
		"default-plan":          {value: "none", bad: "No Plan"},
		"stripe-secret-key":     {value: "rk_2", shown: "[redacted]", bad: "pk_2", with: stripe},
		"stripe-webhook-secret": {value: "whsec_2,whsec_3", shown: "[redacted]", bad: "2", with: stripe},
		"stripe-grace-days":     {value: "0", bad: "-1"},
		"stripe-trial-days":     {value: "30", bad: "366", with: stripe},
		"stripe-url":            {value: "http://localhost:12111", bad: "https://api.stripe.com/v1"},
	}
}

func (s sample) text() string {
	if s.shown != "" {
		return s.shown
	}
	return s.value
}

// settings returns the settings of with, and one more.
func (s sample) settings(name, value string) map[string]string {
	out := map[string]string{name: value}
	for other, companion := range s.with {
		if other != name {
			out[other] = companion
		}
	}
	return out
}

// layers are the values of the settings by source.
type layers struct{ file, env, flags map[string]string }

func envOf(name string) string {
	return "CARREL_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// load loads the layers. The data folder is empty unless a layer sets it.
func (l layers) load(t *testing.T) (config.Config, error) {
	t.Helper()
	opts := config.LoadOptions{
		Getenv: func(name string) string {
			for setting, value := range l.env {
				if envOf(setting) == name {
					return value
				}
			}
			return ""
		},
		Overrides: l.flags,
	}
	if l.file != nil {
		var text strings.Builder
		for _, name := range slices.Sorted(maps.Keys(l.file)) {
			text.WriteString(name + " = \"" + l.file[name] + "\"\n")
		}
		opts.File = write(t, "test.conf", text.String())
	}
	return config.Load(opts)
}

// shownDifferences returns the settings of two configurations that are printed differently.
func shownDifferences(a, b config.Config) []string {
	var out []string
	before := a.Describe()
	for i, s := range b.Describe() {
		if s.Value != before[i].Value {
			out = append(out, s.Name)
		}
	}
	return out
}

func TestSamplesHaveEverySetting(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range config.Defaults() {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	if got := slices.Sorted(maps.Keys(samples(t))); !slices.Equal(got, names) {
		t.Errorf("samples of\n%q\nsettings are\n%q", got, names)
	}
}

// A setting must have the same effect from every source, and no effect on another setting: a row of the table that is
// bound to the field of its neighbour would change both or neither.
func TestEverySettingIsReadFromEverySource(t *testing.T) {
	t.Parallel()
	for name, s := range samples(t) {
		set := s.settings(name, s.value)
		underscored := map[string]string{}
		for setting, value := range set {
			underscored[strings.ReplaceAll(setting, "-", "_")] = value
		}
		for source, tc := range map[string]struct {
			layers
			want config.Source
		}{
			"file":                  {layers{file: set}, config.FromFile},
			"file with underscores": {layers{file: underscored}, config.FromFile},
			"environment":           {layers{env: set}, config.FromEnv},
			"flag":                  {layers{flags: set}, config.FromFlag},
		} {
			t.Run(name+" by "+source, func(t *testing.T) {
				t.Parallel()
				before, err := layers{flags: s.with}.load(t)
				if err != nil {
					t.Fatal(err)
				}
				after, err := tc.load(t)
				if err != nil {
					t.Fatal(err)
				}
				got := describe(t, after, name)
				if got.Value != s.text() || got.Source != tc.want {
					t.Errorf("shown as %q from %s, want %q from %s", got.Value, got.Source, s.text(), tc.want)
				}
				changed := shownDifferences(before, after)
				changed = slices.DeleteFunc(changed, func(other string) bool {
					return other == "base-url" && name != other // derived from addr and tls-cert
				})
				if want := []string{name}; !slices.Equal(changed, want) && describe(t, before, name).Value != s.text() {
					t.Errorf("changes %q", changed)
				}
			})
		}
	}
}

// Only the value of the source with the highest precedence counts. The others are not even checked, so that a flag can
// replace an invalid value of a file.
func TestEverySettingFollowsThePrecedenceOfSources(t *testing.T) {
	t.Parallel()
	for name, s := range samples(t) {
		if s.bad == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := func(value string) map[string]string { return map[string]string{name: value} }
			good, bad := s.settings(name, s.value), s.settings(name, s.bad)
			for _, tc := range []struct {
				layers
				want config.Source
			}{
				{layers{file: one(s.bad), env: one(s.bad), flags: good}, config.FromFlag},
				{layers{file: one(s.bad), env: good}, config.FromEnv},
				{layers{file: one(s.bad), flags: good}, config.FromFlag},
				{layers{env: one(s.bad), flags: good}, config.FromFlag},
			} {
				c, err := tc.load(t)
				if err != nil {
					t.Fatal(err)
				}
				if got := describe(t, c, name); got.Value != s.text() || got.Source != tc.want {
					t.Errorf("shown as %q from %s, want %q from %s", got.Value, got.Source, s.text(), tc.want)
				}
			}
			for label, l := range map[string]layers{
				"test.conf: " + name + " must": {file: bad},
				envOf(name) + " must":          {file: one(s.value), env: bad},
				"--" + name + " must":          {file: one(s.value), env: one(s.value), flags: bad},
			} {
				_, err := l.load(t)
				if err == nil || !strings.Contains(err.Error(), label) {
					t.Errorf("got %v, want an error with %q", err, label)
				}
			}
		})
	}
}

// An error must not quote the value, which may be a secret that was set under the wrong name.
func TestErrorsOfSettingsDoNotQuoteTheValue(t *testing.T) {
	t.Parallel()
	const secret = "hunter2 \x7f hunter2"
	for name, s := range samples(t) {
		if s.bad == "" || name == "tls-cert" || name == "tls-key" {
			continue // a file name may be quoted by the operating system
		}
		_, err := layers{flags: map[string]string{name: secret}}.load(t)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The output of `carrel config` can be used as a settings file.
func TestShownValuesCanBeSetAgain(t *testing.T) {
	t.Parallel()
	for name, s := range samples(t) {
		set := s.settings(name, s.value)
		c, err := layers{flags: set}.load(t)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again := map[string]string{}
		for _, shown := range c.Describe() {
			switch shown.Value {
			case "[redacted]":
				again[shown.Name] = set[shown.Name]
			case "":
			default:
				again[shown.Name] = shown.Value
			}
		}
		d, err := layers{file: again}.load(t)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if changed := shownDifferences(c, d); len(changed) > 0 {
			t.Errorf("%s: set again, %q are different", name, changed)
		}
	}
}

func TestOnlySecretsAreReadFromFiles(t *testing.T) {
	t.Parallel()
	for name, s := range samples(t) {
		set := s.settings(name+"-file", write(t, "secret", s.value+"\n"))
		delete(set, name)
		c, err := layers{flags: set}.load(t)
		address := name == "database" || name == "database-direct" // only the password is redacted
		secret := s.shown == "[redacted]" || address
		if !secret {
			if err == nil || !strings.Contains(err.Error(), "--"+name+"-file is not a setting") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || describe(t, c, name).Value != s.text() {
			t.Errorf("%s: shown as %q, %v", name, describe(t, c, name).Value, err)
		}
		if strings.Contains(c.String(), s.value) && !address {
			t.Errorf("%s is printed", name)
		}
	}
}

func TestSecretFileThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for want, path := range map[string]string{
		"must name a file that exists":       "/nowhere/key",
		"can't be read":                      t.TempDir(),
		"must name a file that is not empty": write(t, "empty", "\r\n\n"),
	} {
		_, err := layers{file: map[string]string{"secret-key-file": path}}.load(t)
		if err == nil || !strings.Contains(err.Error(), "test.conf: secret-key-file "+want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Only line ends are removed from a secret: other white space may be part of it.
func TestSecretFileKeepsSpaces(t *testing.T) {
	t.Parallel()
	secret := "  " + strings.Repeat("k", 40) + " "
	c, err := layers{env: map[string]string{"secret-key-file": write(t, "key", secret+"\n\n")}}.load(t)
	if err != nil || c.SecretKey != secret {
		t.Errorf("%q, %v", c.SecretKey, err)
	}
}

func TestCountsAreLimitedAtBothEnds(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string][2]string{
		"event-streams":         {"1", "1000000"},
		"database-connections":  {"2", "1000"},
		"keep-task-days":        {"1", "36500"},
		"keep-ledger-days":      {"0", "36500"},
		"keep-audit-days":       {"0", "36500"},
		"bin-days":              {"0", "36500"},
		"turns-per-user":        {"0", "1000"},
		"turns-per-node":        {"0", "10000"},
		"imports-per-user":      {"1", "1000"},
		"imports-per-node":      {"1", "1000"},
		"import-unpacked-mib":   {"16", "1048576"},
		"import-entries":        {"1", "10000000"},
		"import-depth":          {"1", "100"},
		"import-work":           {"10", "10000000"},
		"import-memory-mib":     {"64", "1048576"},
		"export-days":           {"1", "365"},
		"embeddings-dimensions": {"0", "8192"},
		"stripe-grace-days":     {"0", "365"},
		"stripe-trial-days":     {"0", "365"},
	} {
		for _, value := range limits {
			c, err := layers{flags: map[string]string{name: value}}.load(t)
			if err != nil || describe(t, c, name).Value != value {
				t.Errorf("%s=%s: %v", name, value, err)
			}
		}
		least, most := limits[0], limits[1]
		for _, value := range []string{
			most + "0", "-" + most, "0x1", "1.0", "1e1", "", " ", "99999999999999999999", least + "x",
		} {
			if _, err := (layers{flags: map[string]string{name: value}}).load(t); err == nil {
				t.Errorf("%s=%q is accepted", name, value)
			}
		}
	}
}

func TestDurationsAreLimitedAtBothEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ good, bad []string }{
		"turn-wait":                  {[]string{"0s", "1ms", "10m"}, []string{"-1ns", "10m1ns", "", "10", "1d"}},
		"database-statement-timeout": {[]string{"0s", "10m"}, []string{"-1s", "601s", "soon"}},
		"shutdown-timeout":           {[]string{"0", "600s"}, []string{"-1s", "601s", "soon"}},
		"import-time":                {[]string{"1s", "24h"}, []string{"999ms", "24h1s", "0"}},
	} {
		for _, value := range tc.good {
			if _, err := (layers{flags: map[string]string{name: value}}).load(t); err != nil {
				t.Errorf("%s=%s: %v", name, value, err)
			}
		}
		for _, value := range tc.bad {
			_, err := layers{flags: map[string]string{name: value}}.load(t)
			if err == nil || !strings.Contains(err.Error(), "must be a duration from") {
				t.Errorf("%s=%q: %v", name, value, err)
			}
		}
	}
}

func TestSwitchesHaveSeveralSpellings(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rate-limits", "outbound-private", "share-links", "totp"} {
		for value, want := range map[string]string{
			"on": "on", "ON": "on", "true": "on", "1": "on", "off": "off", "Off": "off", "false": "off", "0": "off",
		} {
			c, err := layers{env: map[string]string{name: value}}.load(t)
			if err != nil || describe(t, c, name).Value != want {
				t.Errorf("%s=%s: %v", name, value, err)
			}
		}
	}
	for _, name := range []string{"demo", "oidc-signup"} {
		for value, want := range map[string]string{"true": "true", "1": "true", "T": "true", "false": "false", "0": "false"} {
			c, err := layers{env: map[string]string{name: value}}.load(t)
			if err != nil || describe(t, c, name).Value != want {
				t.Errorf("%s=%s: %v", name, value, err)
			}
		}
	}
}

// An empty variable counts as unset, because docker compose and systemd pass variables without a value as empty. An
// empty value of a flag or in a file is a value.
func TestEmptyVariableCountsAsUnset(t *testing.T) {
	t.Parallel()
	for name := range samples(t) {
		c, err := layers{env: map[string]string{name: ""}}.load(t)
		if err != nil || describe(t, c, name).Source != config.FromDefault {
			t.Errorf("%s: %v", name, err)
		}
	}
	l := layers{file: map[string]string{"contact": "a@example.org"}, flags: map[string]string{"contact": ""}}
	if c, err := l.load(t); err != nil || c.Contact != "" || describe(t, c, "contact").Source != config.FromFlag {
		t.Errorf("an empty flag: %q, %v", c.Contact, err)
	}
	l = layers{file: map[string]string{"turn-wait": ""}}
	if _, err := l.load(t); err == nil || !strings.Contains(err.Error(), "turn-wait must be a duration") {
		t.Errorf("an empty value in a file: %v", err)
	}
}

func TestSettingsFileThatIsAFolderIsAnError(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.LoadOptions{File: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "the settings file can't be read") {
		t.Error(err)
	}
}

func TestFlagNamesTheSettingsFileBeforeTheVariable(t *testing.T) {
	t.Parallel()
	opts := env(t, "CARREL_CONFIG", write(t, "variable.conf", "contact = variable@example.org"))
	opts.File = write(t, "flag.conf", "contact = flag@example.org")
	if c := load(t, opts); c.Contact != "flag@example.org" {
		t.Errorf("the settings are those of %s", c.Contact)
	}
}

// A file that was named explicitly may set the data folder, and carrel.conf in that folder is then not read.
func TestNamedFileReplacesTheFileInTheDataFolder(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	if err := os.WriteFile(data+"/carrel.conf", []byte("contact = data@example.org"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := load(t, config.LoadOptions{File: write(t, "named.conf", "data = "+data)})
	if c.Data != data || c.Contact != "" {
		t.Errorf("data %s, contact %s", c.Data, c.Contact)
	}
	opts := config.LoadOptions{Overrides: map[string]string{"data": data}}
	if c := load(t, opts); c.Contact != "data@example.org" {
		t.Errorf("by flag: contact %q", c.Contact)
	}
	opts.Getenv = func(name string) string { return map[string]string{"CARREL_DATA": t.TempDir()}[name] }
	if c := load(t, opts); c.Contact != "data@example.org" {
		t.Errorf("a flag has precedence over the variable: contact %q", c.Contact)
	}
}

func TestDatabaseURLMayNameSeveralHosts(t *testing.T) {
	t.Parallel()
	const url = "postgres://carrel:pa%23ss@pg1.example:5432,pg2.example:5433/carrel?target_session_attrs=read-write"
	c, err := layers{flags: map[string]string{"database": url}}.load(t)
	if err != nil || c.Database != url {
		t.Fatalf("%q, %v", c.Database, err)
	}
	if shown := describe(t, c, "database").Value; !strings.Contains(shown, "@pg1.example:5432,pg2.example:5433/carrel") ||
		strings.Contains(shown, "pa%23ss") {
		t.Errorf("shown as %s", shown)
	}
}

func TestDirectURLNeedsAPooler(t *testing.T) {
	t.Parallel()
	_, err := layers{flags: map[string]string{"database-direct": "postgres://db.example/x"}}.load(t)
	if err == nil || !strings.Contains(err.Error(), "database-direct needs database") {
		t.Error(err)
	}
}
