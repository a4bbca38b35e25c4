//go:build (linux || darwin) && (amd64 || arm64) && !static

package extract

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// apiVersion is the first version of the C interface that has all functions below, that
// of ONNX Runtime 1.5. Later libraries offer it too.
const apiVersion = 5

// apiBase is OrtApiBase.
type apiBase struct{ getAPI, getVersion uintptr }

// apiTable is the beginning of OrtApi: functions, each at a place that never changes.
type apiTable [apiAddSessionConfigEntry + 1]uintptr

// Places of functions in OrtApi.
const (
	apiGetErrorMessage           = 2
	apiCreateEnv                 = 3
	apiCreateSessionFromArray    = 8
	apiRun                       = 9
	apiCreateSessionOptions      = 10
	apiSetSessionLogSeverity     = 22
	apiSetIntraOpNumThreads      = 24
	apiCreateRunOptions          = 39
	apiRunOptionsSetTerminate    = 46
	apiCreateTensorWithData      = 49
	apiGetTensorMutableData      = 51
	apiGetTensorElementType      = 60
	apiGetDimensionsCount        = 61
	apiGetDimensions             = 62
	apiGetTensorTypeAndShape     = 65
	apiCreateCPUMemoryInfo       = 69
	apiReleaseStatus             = 93
	apiReleaseMemoryInfo         = 94
	apiReleaseSession            = 95
	apiReleaseValue              = 96
	apiReleaseRunOptions         = 97
	apiReleaseTensorTypeAndShape = 99
	apiReleaseSessionOptions     = 100
	apiAddSessionConfigEntry     = 130
)

// logFatal is ORT_LOGGING_LEVEL_FATAL: errors are returned, and warnings are for those who
// make networks.
const logFatal = 4

// pointer is an object of the library, or what it is told about.
type pointer = unsafe.Pointer

// Library is the loaded library.
type Library struct {
	version string
	env     pointer

	errorMessage           func(status pointer) string
	createEnv              func(level int32, name, env pointer) pointer
	createSessionFromArray func(env, model pointer, length uintptr, options, session pointer) pointer

	run func(
		session, options, inputNames, inputs pointer, numInputs uintptr, outputNames pointer, numOutputs uintptr,
		outputs pointer,
	) pointer

	createSessionOptions func(options pointer) pointer
	setLogSeverity       func(options pointer, level int32) pointer
	setThreads           func(options pointer, threads int32) pointer
	addConfig            func(options, key, value pointer) pointer
	createRunOptions     func(options pointer) pointer
	setTerminate         func(options pointer) pointer

	createTensor func(
		memory, data pointer, bytes uintptr, dims pointer, numDims uintptr, kind int32, value pointer,
	) pointer

	tensorData       func(value, data pointer) pointer
	elementType      func(info, kind pointer) pointer
	dimensionsCount  func(info, count pointer) pointer
	dimensions       func(info, dims pointer, count uintptr) pointer
	typeAndShape     func(value, info pointer) pointer
	createMemoryInfo func(allocator, memory int32, info pointer) pointer

	releaseStatus, releaseMemoryInfo, releaseSession, releaseValue func(pointer)
	releaseRunOptions, releaseShape, releaseSessionOptions         func(pointer)
}

// loaded keeps the library for the whole process: it is never unloaded.
var loaded struct {
	sync.Mutex
	libraries map[string]*Library // by the path that was asked for
}

// Open loads the library: the file, or the folder with it, that path names, or else the
// environment variable, or else one of the system or of Python.
func Open(ctx context.Context, path string) (*Library, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if l := loaded.libraries[path]; l != nil {
		return l, nil
	}
	names := candidates(path)
	handle, problem := openAny(names)
	if handle == 0 && path == "" && (len(names) != 1 || filepath.Base(names[0]) == names[0]) {
		if more := fromPython(ctx); len(more) > 0 {
			handle, problem = openAny(more)
		}
	}
	if handle == 0 {
		return nil, fmt.Errorf("%w (%v)", ErrNoLibrary, problem)
	}
	l, err := newLibrary(handle)
	if err != nil {
		return nil, err
	}
	if loaded.libraries == nil {
		loaded.libraries = map[string]*Library{}
	}
	loaded.libraries[path] = l
	return l, nil
}

// openAny loads the first library that can be loaded and returns the error for the first
// name if there is none.
func openAny(names []string) (handle uintptr, err error) {
	err = errors.New("there is no such file in the folder")
	for i, name := range names {
		h, problem := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if problem == nil {
			return h, nil
		}
		if i == 0 {
			err = problem
		}
	}
	return 0, err
}

// newLibrary finds the functions.
func newLibrary(handle uintptr) (*Library, error) {
	address, err := purego.Dlsym(handle, "OrtGetApiBase")
	if err != nil {
		return nil, fmt.Errorf("%w (%v)", ErrNoLibrary, err)
	}
	var base func() *apiBase
	var version func() string
	var table func(version uint32) *apiTable
	purego.RegisterFunc(&base, address)
	purego.RegisterFunc(&version, base().getVersion)
	purego.RegisterFunc(&table, base().getAPI)
	l := &Library{version: version()}
	api := table(apiVersion)
	if api == nil {
		return nil, fmt.Errorf("%w (version %s is too old, want 1.%d or later)", ErrNoLibrary, l.version, apiVersion)
	}
	for place, function := range map[int]any{
		apiGetErrorMessage: &l.errorMessage, apiCreateEnv: &l.createEnv,
		apiCreateSessionFromArray: &l.createSessionFromArray, apiRun: &l.run,
		apiCreateSessionOptions: &l.createSessionOptions, apiSetSessionLogSeverity: &l.setLogSeverity,
		apiSetIntraOpNumThreads:  &l.setThreads,
		apiAddSessionConfigEntry: &l.addConfig, apiCreateRunOptions: &l.createRunOptions,
		apiRunOptionsSetTerminate: &l.setTerminate,
		apiCreateTensorWithData:   &l.createTensor, apiGetTensorMutableData: &l.tensorData,
		apiGetTensorElementType: &l.elementType,
		apiGetDimensionsCount:   &l.dimensionsCount, apiGetDimensions: &l.dimensions,
		apiGetTensorTypeAndShape: &l.typeAndShape, apiCreateCPUMemoryInfo: &l.createMemoryInfo,
		apiReleaseStatus: &l.releaseStatus, apiReleaseMemoryInfo: &l.releaseMemoryInfo,
		apiReleaseSession: &l.releaseSession, apiReleaseValue: &l.releaseValue,
		apiReleaseRunOptions: &l.releaseRunOptions, apiReleaseTensorTypeAndShape: &l.releaseShape,
		apiReleaseSessionOptions: &l.releaseSessionOptions,
	} {
		purego.RegisterFunc(function, api[place])
	}
	return l, l.check(l.createEnv(logFatal, text("blockbp"), pointer(&l.env)))
}

// Version is that of the library.
func (l *Library) Version() string { return l.version }

// check turns a status into an error.
func (l *Library) check(status pointer) error {
	if status == nil {
		return nil
	}
	defer l.releaseStatus(status)
	return fmt.Errorf("ONNX Runtime %s: %s", l.version, l.errorMessage(status))
}

// text is a string as C has it.
func text(s string) pointer {
	bytes := append([]byte(s), 0)
	return pointer(&bytes[0])
}

// Session is a network that is ready to run.
type Session struct {
	library               *Library
	session, memory       pointer
	inputName, outputName pointer
}

// NewSession makes the network that computes a layer ready to run on some threads. The
// folder is that of its file: weights may lie in other files there.
func (l *Library) NewSession(layer *Layer, folder string, threads int) (*Session, error) {
	model, err := layer.Network()
	if err != nil {
		return nil, err
	}
	var options pointer
	if err := l.check(l.createSessionOptions(pointer(&options))); err != nil {
		return nil, err
	}
	defer l.releaseSessionOptions(options)
	s := &Session{library: l, inputName: text(layer.Input.Name), outputName: text(layer.Name)}
	for _, step := range []func() pointer{
		func() pointer { return l.setLogSeverity(options, logFatal) },
		func() pointer { return l.setThreads(options, int32(threads)) },
		func() pointer {
			return l.addConfig(options, text("session.model_external_initializers_file_folder_path"), text(folder))
		},
		func() pointer {
			return l.createSessionFromArray(l.env, pointer(&model[0]), uintptr(len(model)), options, pointer(&s.session))
		},
		func() pointer { return l.createMemoryInfo(0, 0, pointer(&s.memory)) },
	} {
		if err := l.check(step()); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// Close lets go of the network.
func (s *Session) Close() {
	if s.session != nil {
		s.library.releaseSession(s.session)
	}
	if s.memory != nil {
		s.library.releaseMemoryInfo(s.memory)
	}
	s.session, s.memory = nil, nil
}

// Run computes the layer. It stops early if the context ends.
func (s *Session) Run(ctx context.Context, input Tensor) (Tensor, error) {
	l := s.library
	var options, in, out pointer
	if err := l.check(l.createRunOptions(pointer(&options))); err != nil {
		return Tensor{}, err
	}
	defer l.releaseRunOptions(options)
	var pinned runtime.Pinner // the library keeps the address of the data until the value is released
	defer pinned.Unpin()
	pinned.Pin(&input.Data[0])
	if err := l.check(l.createTensor(s.memory, pointer(&input.Data[0]), uintptr(len(input.Data)),
		pointer(&input.Dims[0]), uintptr(len(input.Dims)), int32(input.Type), pointer(&in))); err != nil {
		return Tensor{}, err
	}
	defer l.releaseValue(in)
	var ended sync.WaitGroup
	ended.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer ended.Done()
		_ = l.check(l.setTerminate(options)) // the work then ends by itself
	})
	err := l.check(l.run(s.session, options, pointer(&s.inputName), pointer(&in), 1, pointer(&s.outputName), 1,
		pointer(&out)))
	if !stop() {
		ended.Wait() // options are still in use
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if out != nil {
		defer l.releaseValue(out)
	}
	if err != nil {
		return Tensor{}, err
	}
	return l.read(out)
}

// read copies a tensor.
func (l *Library) read(value pointer) (Tensor, error) {
	var info, data pointer
	if err := l.check(l.typeAndShape(value, pointer(&info))); err != nil {
		return Tensor{}, err
	}
	defer l.releaseShape(info)
	var kind int32
	var count uintptr
	if err := errors.Join(l.check(l.elementType(info, pointer(&kind))),
		l.check(l.dimensionsCount(info, pointer(&count)))); err != nil {
		return Tensor{}, err
	}
	t := Tensor{Type: Type(kind), Dims: make([]int64, count)}
	bytes := int64(t.Type.Size())
	if count > 0 {
		if err := l.check(l.dimensions(info, pointer(&t.Dims[0]), count)); err != nil {
			return Tensor{}, err
		}
	}
	for _, n := range t.Dims {
		bytes *= n
	}
	if bytes == 0 {
		return t, nil // there is nothing in it, or it is of a type that is not read
	}
	if err := l.check(l.tensorData(value, pointer(&data))); err != nil {
		return Tensor{}, err
	}
	t.Data = append(t.Data, unsafe.Slice((*byte)(data), bytes)...)
	return t, nil
}
