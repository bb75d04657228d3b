package core

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// columns are the kinds of credential, as in the documentation.
var columns = []struct {
	kind  CredentialKind
	title string
}{
	{CredentialKey, "API key"},
	{CredentialMinted, "key minted from a connect code"},
	{CredentialOAuth, "OAuth access token"},
	{CredentialSession, "session"},
}

// reachTable formats the documented table of areas and kinds of credential.
func reachTable() string {
	var b strings.Builder
	b.WriteString("| |")
	for _, c := range columns {
		b.WriteString(" " + c.title + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, area := range Areas() {
		b.WriteString("| " + string(area) + " |")
		for _, c := range columns {
			b.WriteString(" " + cell(c.kind, area) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func cell(kind CredentialKind, area Area) string {
	scope, ever := Reach(kind, area)
	switch {
	case !ever:
		return "no"
	case kind == CredentialSession && area == AreaAdmin:
		return "of an admin"
	case area == AreaWebhooks && kind == CredentialMinted:
		return "its own"
	case kind == CredentialSession, kind == CredentialMinted:
		return "yes"
	case area == AreaWebhooks && kind == CredentialKey:
		return "with scope `account`; with scope `" + string(scope) + "` its own"
	case area == AreaWebhooks:
		return "its own, with scope `" + string(scope) + "`"
	case area == AreaAdmin:
		return "with scope `" + string(scope) + "`, of an admin"
	}
	return "with scope `" + string(scope) + "`"
}

func TestDocumentedAccessTableMatchesTheCode(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/identity.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := reachTable(); !strings.Contains(string(page), want) {
		t.Errorf("docs/identity.md does not have this table:\n%s", want)
	}
}

// The expected access is written out here instead of read from the table under test.
func TestAccessOfEveryCredentialKindAndScope(t *testing.T) {
	t.Parallel()
	inArea := map[Area][]Operation{}
	for _, op := range Operations() {
		r, _ := op.Rule()
		if r.Area == "" || r.Session {
			continue
		}
		inArea[r.Area] = append(inArea[r.Area], op)
	}
	// For each kind of credential, the scopes that allow the area; "-" means none.
	want := map[CredentialKind]map[Area]string{}
	for kind, cells := range map[CredentialKind]string{
		CredentialKey:         "agents agents agents agents agents agents|account manage account account account admin",
		CredentialMinted:      "agents agents agents agents agents agents manage - - - -",
		CredentialOAuth:       "agents agents agents agents agents agents manage - - - -",
		CredentialSession:     "agents agents agents agents agents agents|account manage account account account admin",
		CredentialOperator:    "agents agents agents agents agents agents|account manage account account account admin",
		CredentialKind(""):    "- - - - - - - - - - -",
		CredentialKind("new"): "- - - - - - - - - - -",
	} {
		want[kind] = map[Area]string{}
		for i, c := range strings.Fields(cells) {
			want[kind][Areas()[i]] = c
		}
	}
	for kind, row := range want {
		for _, area := range Areas() {
			if len(inArea[area]) == 0 {
				t.Fatalf("no operation is in the area %s", area)
			}
			for _, op := range inArea[area] {
				for _, scope := range RoleOwner.Scopes() {
					who := Actor{UserID: "u", Role: RoleOwner, Plan: PlanOpen, Credential: kind, Scopes: []Scope{scope}}
					if err := who.Allow(op); (err == nil) != slices.Contains(strings.Split(row[area], "|"), string(scope)) {
						t.Errorf("%q with %s, %s of %s: %v", kind, scope, op, area, err)
					}
				}
			}
		}
	}
}
