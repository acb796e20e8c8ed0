import Foundation
import Synchronization

/// A process started by a test; inherits only the three standard files.
///
/// Replaces Foundation's `Process`, which learns of an end through a socket that children started concurrently by other
/// threads inherit; the end of one child is then reported only after the other has ended. Tests start processes
/// concurrently, and some wait for one another.
public final class ChildProcess: Sendable {
    /// The child's standard input.
    public enum Input: Sendable {
        /// Empty.
        case nothing
        /// A text, then the end.
        case text(String)
        /// Empty, but without an end for the lifetime of this value.
        case heldOpen
        /// A text, but without an end for the lifetime of this value.
        case textHeldOpen(String)
    }

    /// The process id.
    public let id: pid_t
    /// The child's standard output.
    public let output = ChildText()
    /// The child's standard error.
    public let errors = ChildText()

    private struct State {
        var status: Int32?
        var waiters: [CheckedContinuation<Int32, Never>] = []
    }
    private let state = Mutex(State())
    private let heldInput: Descriptor?
    /// Starts a program; the arguments don't include its name.
    ///
    /// - Throws: `POSIXError` if the program can't be started.
    public init(
        _ executable: URL,
        _ arguments: [String],
        input: Input = .nothing,
        environment: [String: String] = [:],
        folder: URL? = nil
    ) throws {
        let there = folder.map { ["/bin/sh", "-c", #"cd "$0" && exec "$@""#, $0.path] } ?? []
        let words = there + [executable.path] + arguments
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let files = try [Pipe(), Pipe(), Pipe()]
        let childs = [files[0].reading, files[1].writing, files[2].writing]
        id = try withExtendedLifetime(childs) {
            try Self.spawn(words, environment: variables, standardFiles: childs.map(\.number))
        }
        output.collect(files[1].reading)
        errors.collect(files[2].reading)
        let writing = files[0].writing
        switch input {
        case .heldOpen, .textHeldOpen: heldInput = writing
        case .nothing, .text: heldInput = nil
        }
        switch input {
        case .nothing, .heldOpen: break
        case .text(let text), .textHeldOpen(let text):
            Thread.detachNewThread { writing.write(Array(text.utf8)) }
        }
        Thread.detachNewThread { self.awaitEnd() }
    }

    /// Sends a signal, unless the process has ended.
    public func signal(_ number: Int32) {
        state.withLock { if $0.status == nil { _ = Foundation.kill(id, number) } }
    }

    /// Waits for the end; returns the exit status, or the signal that ended the process.
    public func status() async -> Int32 {
        await withCheckedContinuation { continuation in
            let status = state.withLock { state in
                if state.status == nil { state.waiters.append(continuation) }
                return state.status
            }
            if let status { continuation.resume(returning: status) }
        }
    }

    private func awaitEnd() {
        // Doesn't reap the process: its id must not be reused before the lock is held.
        var information = siginfo_t()
        while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
        let (status, waiters) = state.withLock { state in
            var raw: Int32 = 0
            while waitpid(id, &raw, 0) < 0 && errno == EINTR {}
            let status = raw & 0x7f == 0 ? (raw >> 8) & 0xff : raw & 0x7f
            state.status = status
            defer { state.waiters = [] }
            return (status, state.waiters)
        }
        for waiter in waiters { waiter.resume(returning: status) }
    }

    private static func spawn(
        _ words: [String],
        environment: [String: String],
        standardFiles: [Int32]
    ) throws -> pid_t {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
            let flags = Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_CLOEXEC_DEFAULT)
        #else
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
            let flags = Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        for (place, number) in standardFiles.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, number, Int32(place))
        }
        #if !canImport(Darwin)
            // Descriptors that aren't open are ignored.
            for number in 3..<4096 as Range<Int32> { posix_spawn_file_actions_addclose(&actions, number) }
        #endif
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, flags)

        let arguments = words.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var id = pid_t()
        let failure = posix_spawn(&id, words[0], &actions, &attributes, arguments, variables)
        guard failure == 0 else { throw POSIXError(.init(rawValue: failure) ?? .EIO) }
        return id
    }
}
