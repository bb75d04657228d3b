package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"carrel/internal/testkit"
)

// TestAnyCardCanBeRemovedByItsID checks, in REST and MCP, that the id in the reply removes the favourite, with any
// characters in it.
func TestAnyCardCanBeRemovedByItsID(t *testing.T) {
	t.Parallel()
	w := newMCPInstallation(t, testkit.ServerOptions{})
	session := w.connect(t, stateful, nil)
	for _, id := range []string{
		"10.1145/359340.359342", "/", "//", "a/../b", "../..", ".", "..", "...", "100%", "%2F", "a%2Fb/c", "a?b#c",
		"a b", " ", "ü😀/é", "+", "&=;,", `"\`,
		"export", "x/export", "favourites/export", "x/events", "{agentId}", "a\nb", "https://doi.org/10.1/2?x=1#y",
	} {
		card, err := json.Marshal(map[string]any{"card": map[string]any{"cardId": id, "title": "T"}})
		if err != nil {
			t.Fatal(err)
		}
		for surface, remove := range map[string]func(cardID string){
			"REST": func(cardID string) { w.do(t, http.MethodDelete, w.below("/favourites/"+url.PathEscape(cardID)), "") },
			"MCP": func(cardID string) {
				result, text, _ := use(t, session, "delete_favourite", map[string]any{"agentId": w.agent, "cardId": cardID})
				if result.IsError {
					t.Errorf("%q by MCP: %s", id, text)
				}
			},
		} {
			saved := w.do(t, http.MethodPost, w.below("/favourites"), string(card)).text("favourite", "cardId")
			if own := id != "." && id != ".." && id != "a\nb"; own != (saved == id) {
				t.Errorf("%q is saved as %q", id, saved)
			}
			remove(saved)
			if left := w.do(t, http.MethodGet, w.below("/favourites"), ""); left.at("favourites", 0) != nil {
				t.Fatalf("%q is still there after its removal by %s", id, surface)
			}
		}
	}
}
