package installation

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cairn-dev/cairn/internal/cli"
)

// TestFindOrigin: each way to install is recognised, and has its command.
func TestFindOrigin(t *testing.T) {
	prefix := t.TempDir()
	marker := filepath.Join(prefix, "lib", "cairn", "install")
	if err := os.MkdirAll(filepath.Dir(marker), 0o700); err != nil {
		t.Fatal(err)
	}
	releases := " of the new version from https://github.com/cairn-dev/cairn/releases"
	for _, tt := range []struct {
		name, program, marker string
		packages              map[string]string // the output of each database that knows the file
		source                cli.Source
		want                  origin
	}{
		{
			name: "install.sh", program: prefix + "/bin/cairn", marker: "installer=install.sh\nversion=1.0.0\nurl=https://x\n",
			want: origin{Kind: kindScript, Command: "cairn upgrade", prefix: prefix, url: "https://x", marked: "1.0.0"},
		},
		{
			name: "a container", program: prefix + "/bin/cairn", marker: "installer=container\n",
			want: origin{Kind: kindContainer, Note: "build or pull the image of the new version, and start a container from it"},
		},
		{
			name: "another marker", program: prefix + "/bin/cairn", marker: "installer=x\n", source: cli.SourceModule,
			want: origin{Kind: kindModule, Command: "go install github.com/cairn-dev/cairn@latest"},
		},
		{
			name: "Homebrew", program: "/opt/homebrew/Cellar/cairn/1.0.0/bin/cairn",
			want: origin{Kind: kindHomebrew, Command: "brew upgrade cairn"},
		},
		{
			name: "npm", program: "/usr/lib/node_modules/@cairn-dev/cairn-linux-x64/bin/cairn",
			want: origin{Kind: kindNPM, Command: "npm install --global @cairn-dev/cairn@latest"},
		},
		{
			name: "npm below it", program: "/usr/lib/node_modules/@cairn-dev/cairn/node_modules/@cairn-dev/cairn-linux-x64/bin/cairn",
			want: origin{Kind: kindNPM, Command: "npm install --global @cairn-dev/cairn@latest"},
		},
		{
			name: "npm of a project", program: "/src/app/node_modules/@cairn-dev/cairn-linux-x64/bin/cairn",
			want: origin{Kind: kindNPM, Command: "npm install @cairn-dev/cairn@latest", Note: "in /src/app"},
		},
		{
			name: "npm on Windows", program: "C:/Users/me/AppData/Roaming/npm/node_modules/@cairn-dev/cairn-win32-x64/bin/cairn.exe",
			want: origin{Kind: kindNPM, Command: "npm install --global @cairn-dev/cairn@latest"},
		},
		{
			name:    "pnpm",
			program: "/src/app/node_modules/.pnpm/@cairn-dev+cairn-linux-x64@1.0.0/node_modules/@cairn-dev/cairn-linux-x64/bin/cairn",
			want:    origin{Kind: kindNPM, Command: "pnpm add @cairn-dev/cairn@latest", Note: "in /src/app"},
		},
		{
			name: "a clone with a blank", program: "/src/my app/cairn", source: cli.SourceCheckout,
			want: origin{
				Kind: kindCheckout, Command: "git pull && CGO_ENABLED=0 go build -o '/src/my app/cairn' .",
				Note: "in the clone that it was built from",
			},
		},
		{
			name: "npx", program: "/root/.npm/_npx/abc/node_modules/@cairn-dev/cairn-linux-x64/bin/cairn",
			want: origin{Kind: kindNPM, Command: "npx @cairn-dev/cairn@latest"},
		},
		{
			name: "deb", program: "/usr/bin/cairn", packages: map[string]string{"dpkg-query": "cairn: /usr/bin/cairn"},
			want: origin{Kind: kindDeb, Command: "sudo apt install ./FILE.deb", Note: "with the deb" + releases},
		},
		{
			name: "rpm", program: "/usr/bin/cairn", packages: map[string]string{"rpm": "cairn"},
			want: origin{Kind: kindRPM, Command: "sudo rpm -U ./FILE.rpm", Note: "with the rpm" + releases},
		},
		{
			name: "apk", program: "/usr/bin/cairn", packages: map[string]string{"apk": "/usr/bin/cairn is owned by cairn-1.0.0-r0"},
			want: origin{Kind: kindAPK, Command: "apk add --allow-untrusted ./FILE.apk", Note: "with the apk" + releases},
		},
		{
			name: "go build", program: "/src/cairn/cairn",
			want: origin{
				Kind: kindCheckout, Command: "git pull && CGO_ENABLED=0 go build -o /src/cairn/cairn .",
				Note: "in the clone that it was built from",
			},
		},
		{
			name: "an archive", program: "/opt/cairn", source: cli.SourceRelease,
			want: origin{
				Kind: kindUnknown,
				Note: "replace it by the program of an archive of https://github.com/cairn-dev/cairn/releases",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_ = os.Remove(marker) // of the case before
			if tt.marker != "" {
				if err := os.WriteFile(marker, []byte(tt.marker), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			tt.want.Program, tt.want.Version = tt.program, "1.0.0"
			got := findOrigin(t.Context(), evidence{
				program: tt.program, build: cli.BuildInfo{Version: "1.0.0", Source: tt.source},
				run: func(_ context.Context, argv ...string) (string, error) {
					out, ok := tt.packages[argv[0]]
					if !ok || argv[len(argv)-1] != tt.program {
						return "", errors.New("not found")
					}
					return out, nil
				},
			})
			if d := cmp.Diff(tt.want, got, cmp.AllowUnexported(origin{}), cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
			if said := describeOrigin(got) + describeCommand(got); strings.Contains(said, "()") || !strings.Contains(said, "upgrade: ") {
				t.Error(said)
			}
		})
	}
}
