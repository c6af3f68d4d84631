package config

import "github.com/cairn-dev/cairn/internal/location/config/document"

// maxLayer returns the last layer whose documents may set a key. The struct tag scope declares it; without a tag it is
// that of the key above.
func maxLayer(tag string, above document.Layer) document.Layer {
	switch tag {
	case "project":
		return document.LayerProject
	case "trusted":
		return document.LayerTrusted
	case "user":
		return document.LayerUser
	default:
		return above
	}
}
