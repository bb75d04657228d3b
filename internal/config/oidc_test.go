package config_test

import (
	"slices"
	"strings"
	"testing"

	"carrel/internal/config"
)

func TestOIDCNeedsIssuerAndClientID(t *testing.T) {
	t.Parallel()
	off := load(t, env(t))
	if off.OIDC.On() || !off.TOTP {
		t.Errorf("by default: %+v, apps %v", off.OIDC, off.TOTP)
	}
	c := load(t, env(t, "CARREL_OIDC_ISSUER", "https://login.example.org/realms/x", "CARREL_OIDC_CLIENT_ID", "carrel",
		"CARREL_OIDC_CLIENT_SECRET", "s3cret", "CARREL_OIDC_SIGNUP", "true", "CARREL_TOTP", "off"))
	want := config.OIDC{
		Issuer: "https://login.example.org/realms/x", ClientID: "carrel", ClientSecret: "s3cret",
		SignUp: true,
	}
	if c.OIDC != want || c.OIDC.Label() != "login.example.org" || c.TOTP {
		t.Errorf("%+v", c.OIDC)
	}
	if strings.Contains(c.String(), "s3cret") {
		t.Error("the secret is shown")
	}
	named := load(t, env(t, "CARREL_OIDC_ISSUER", "http://127.0.0.1:9000", "CARREL_OIDC_CLIENT_ID", "carrel",
		"CARREL_OIDC_NAME", "Example University"))
	if named.OIDC.Label() != "Example University" {
		t.Errorf("it is called %s", named.OIDC.Label())
	}
	alone := load(t, env(t, "CARREL_OIDC_SIGNUP", "true"))
	const warning = "oidc-client-secret, oidc-name and oidc-signup have no effect without oidc-issuer"
	if !slices.Contains(alone.Warnings, warning) {
		t.Errorf("warnings %q", alone.Warnings)
	}
}

func TestInvalidOIDCSettingsAreRefused(t *testing.T) {
	t.Parallel()
	for name, vars := range map[string][]string{
		"no client":    {"CARREL_OIDC_ISSUER", "https://login.example.org"},
		"no issuer":    {"CARREL_OIDC_CLIENT_ID", "carrel"},
		"plain http":   {"CARREL_OIDC_ISSUER", "http://login.example.org", "CARREL_OIDC_CLIENT_ID", "carrel"},
		"no address":   {"CARREL_OIDC_ISSUER", "login.example.org", "CARREL_OIDC_CLIENT_ID", "carrel"},
		"a user in it": {"CARREL_OIDC_ISSUER", "https://a:b@login.example.org", "CARREL_OIDC_CLIENT_ID", "carrel"},
		"a query":      {"CARREL_OIDC_ISSUER", "https://login.example.org?x=y", "CARREL_OIDC_CLIENT_ID", "carrel"},
		"an odd name": {
			"CARREL_OIDC_ISSUER", "https://login.example.org", "CARREL_OIDC_CLIENT_ID", "carrel",
			"CARREL_OIDC_NAME", "a\nb",
		},
		"an odd sign-up": {
			"CARREL_OIDC_ISSUER", "https://login.example.org", "CARREL_OIDC_CLIENT_ID", "carrel",
			"CARREL_OIDC_SIGNUP", "maybe",
		},
	} {
		if _, err := config.Load(env(t, vars...)); err == nil || !strings.Contains(err.Error(), "oidc") &&
			!strings.Contains(err.Error(), "OIDC") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
