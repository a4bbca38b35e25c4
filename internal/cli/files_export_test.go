package cli

// Annotations of what options and arguments are.
const (
	ReadsAnnotation  = readsAnnotation
	WritesAnnotation = writesAnnotation
	ForceHelp        = forceHelp
)
