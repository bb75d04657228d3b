package mcp

import (
	"net/http"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// iconPath is the path of the icons. It is public, because clients fetch icons without a credential.
const iconPath = "/mcp/icons/"

// shapes are the SVG shapes of the icons, on a grid of 24 by 24.
var shapes = map[string]string{
	"carrel":     `<path d="M4 20V8l8-4 8 4v12M4 13h16M9 20v-7m6 7v-7"/>`,
	"agents":     `<circle cx="12" cy="8" r="4"/><path d="M4 20c0-4 4-6 8-6s8 2 8 6"/>`,
	"search":     `<circle cx="10" cy="10" r="6"/><path d="m15 15 6 6"/>`,
	"memories":   `<path d="M6 3h12v18l-6-4-6 4z"/>`,
	"favourites": `<path d="m12 3 2.7 5.8 6.3.8-4.6 4.4 1.2 6.3L12 17.2l-5.6 3.1 1.2-6.3L3 9.6l6.3-.8z"/>`,
	"sources":    `<path d="M5 4h4v16H5zM10 4h4v16h-4zM15.5 5l3.5-1 3 15-3.5 1z"/>`,
	"threads":    `<path d="M4 5h16v11H10l-5 4v-4H4z"/>`,
}

// icons returns the icon of a tag of the contract, or the program's icon.
func icons(baseURL, tag string) []sdk.Icon {
	name := strings.ToLower(tag)
	if shapes[name] == "" {
		name = "carrel"
	}
	return []sdk.Icon{{Source: baseURL + iconPath + name + ".svg", MIMEType: "image/svg+xml", Sizes: []string{"any"}}}
}

// serveIcon serves an icon, in a grey that is visible on light and dark backgrounds.
func serveIcon(w http.ResponseWriter, r *http.Request) {
	shape := shapes[strings.TrimSuffix(r.PathValue("name"), ".svg")]
	if shape == "" {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "image/svg+xml")
	h.Set("Content-Security-Policy", "default-src 'none'")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cache-Control", "public, max-age=86400")
	// the client may have disconnected
	_, _ = w.Write([]byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#737d8c" ` +
		`stroke-width="2" stroke-linecap="round" stroke-linejoin="round">` + shape + `</svg>`))
}
