// Package watch shows trainings in a browser while they go on: their numbers, curves and pictures, from what their
// folders hold. A training may be that of any process.
//
// Handler serves one page, which has its script and style within, and the server-sent
// events that the page draws. It answers below a path that nobody can guess, at a loopback
// address requests of this machine only, and reads only the files of these runs.
package watch

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed" // for what the page is made of
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/blockbp/blockbp/internal/runfolder"
)

// The page, and what stands in it: charts are drawn by uPlot 1.6.32 (MIT), as the npm
// registry has it (uplot-1.6.32.tgz, sha1 c800a63b432bad692d6d746f44f0882aa73a49ae). It
// draws thousands of points ten times a second, and needs nothing else.
var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
	//go:embed uplot/uPlot.min.css
	uplotCSS string
	//go:embed uplot/uPlot.iife.min.js
	uplotJS string
)

// page is the whole page.
var page = strings.NewReplacer("/* uplot.css */", uplotCSS, "/* page.css */", pageCSS, "/* uplot.js */",
	uplotJS, "/* page.js */", pageJS).Replace(pageHTML)

// policy allows the page its own styles and scripts and the events, and nothing else. The
// icon is an empty one in the page: browsers ask for one that is not there.
var policy = "default-src 'none'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; style-src" + hashesOf(page, "style") + "; script-src" + hashesOf(page, "script")

// hashesOf lists the hashes of the elements of a name as a Content-Security-Policy has them.
func hashesOf(page, element string) string {
	var hashes strings.Builder
	for _, part := range strings.Split(page, "<"+element+">")[1:] {
		text, _, _ := strings.Cut(part, "</"+element+">")
		hash := sha256.Sum256([]byte(text))
		hashes.WriteString(" 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'")
	}
	return hashes.String()
}

// NewToken returns a text that nobody guesses: any user of a machine can reach its ports.
func NewToken() string { return strings.ToLower(rand.Text()) }

// Handler serves the page of the runs in folders at /token/.
func Handler(dirs []string, token string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(page)) // a reader who has gone needs none
	})
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		out := http.NewResponseController(w)
		follow(r.Context(), dirs, func(text []byte) error {
			if _, err := w.Write(text); err != nil {
				return err
			}
			return out.Flush()
		})
	})
	mux.HandleFunc("/pictures/{run}/{name}", func(w http.ResponseWriter, r *http.Request) {
		run, err := strconv.Atoi(r.PathValue("run"))
		name := r.PathValue("name")
		if err != nil || run < 0 || run >= len(dirs) || picturesOf(dirs[run])[name] == "" {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, filepath.Join(dirs[run], runfolder.PlotFolder, name))
	})
	return guarded(token, http.StripPrefix("/"+token, mux))
}

// guarded lets only pages of its own ask, and only to read. At a loopback address a page of another name that leads
// here, by a name server that was told so, is sent away. Ports are not looked at: ssh may forward another one here.
func guarded(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		given, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		switch {
		case !isOwn(r):
			http.Error(w, "this page is for 127.0.0.1 and localhost", http.StatusForbidden)
		case r.Method != http.MethodGet:
			header.Set("Allow", http.MethodGet)
			http.Error(w, "this page can be read only", http.StatusMethodNotAllowed)
		case subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1:
			http.Error(w, "nothing is here: the page has the whole address that blockbp watch prints", http.StatusNotFound)
		case r.URL.Path == "/"+token:
			http.Redirect(w, r, r.URL.Path+"/", http.StatusMovedPermanently)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isOwn reports whether a request names this machine by itself, or is to a server that other machines reach, too.
func isOwn(r *http.Request) bool {
	loopback := func(address string) bool {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			host = address
		}
		return net.ParseIP(host).IsLoopback() || strings.EqualFold(host, "localhost")
	}
	server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
	return loopback(r.Host) || server != nil && !loopback(server.Addr)
}

// Serve answers on a listener, as Handler does, until the context ends, which is no error.
func Serve(ctx context.Context, listener net.Listener, dirs []string, token string) error {
	server := &http.Server{
		Addr:              listener.Addr().String(),
		Handler:           Handler(dirs, token),
		ReadHeaderTimeout: 10 * time.Second, // for a browser to say what it wants
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // the listener's error, if any, is the one of Serve
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
