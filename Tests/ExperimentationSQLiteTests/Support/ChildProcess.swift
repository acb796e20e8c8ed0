#if os(Linux)
    import Foundation
    import Glibc
    import Synchronization
    import Testing

    /// This test program, started again to play one part, so that it can be killed.
    final class ChildProcess: Sendable {
        private static let variable = "OUTBOX_CHILD"

        let pid: pid_t

        /// Starts a child that runs the tests named like its part.
        ///
        /// - Parameters:
        ///   - part: The name of a test that only runs in a child.
        ///   - arguments: What the part needs to know; none of them holds a tab.
        ///   - starter: A program with its arguments that starts what follows them.
        /// - Throws: When the child can't be started.
        convenience init(_ part: String, _ arguments: [String], by starter: [String] = []) throws {
            var environment = ProcessInfo.processInfo.environment
            environment[Self.variable] = ([part] + arguments).joined(separator: "\t")
            environment["SOAK"] = nil
            // The test program is found by its own name; `swift test` starts it by a helper of the tools otherwise.
            let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            var words = [program]
            let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
            if let bundle, bundle != program { words += ["--test-bundle-path", bundle] }
            words += ["--testing-library", "swift-testing", "--filter", "ChildParts"]
            try self.init(starter + words, environment: environment)
        }

        /// Starts a program of which nothing is seen.
        init(_ words: [String], environment: [String: String]) throws {
            var attributes = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&attributes)
            defer { posix_spawn_file_actions_destroy(&attributes) }
            for descriptor in 1...2 as ClosedRange<Int32> {
                posix_spawn_file_actions_addopen(&attributes, descriptor, "/dev/null", O_WRONLY, 0)
            }
            let argv = words.map { strdup($0) } + [nil]
            let envp = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
            defer { for pointer in argv + envp { free(pointer) } }
            var pid: pid_t = 0
            guard posix_spawn(&pid, words[0], &attributes, nil, argv, envp) == 0 else { throw POSIXError(.EAGAIN) }
            self.pid = pid
        }

        /// The arguments, if this process is a child with this part.
        static func arguments(of part: String) -> [String]? {
            guard let value = ProcessInfo.processInfo.environment[variable] else { return nil }
            let words = value.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            return words.first == part ? Array(words.dropFirst()) : nil
        }

        /// Kills the child, without a chance to do anything, and waits until it is gone.
        func kill() {
            _ = Glibc.kill(pid, SIGKILL)
            waitUntilGone()
        }

        /// Waits until the child has ended.
        ///
        /// - Returns: Whether it says that all went well.
        @discardableResult
        func waitUntilGone() -> Bool {
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            return status == 0
        }
    }

    /// A file that lines are added to, in a way that survives the death of the process.
    final class LineFile: Sendable {
        private let descriptor: Int32

        init(_ path: String) throws {
            descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw POSIXError(.EIO) }
        }

        deinit { close(descriptor) }

        func add(_ line: String) {
            let bytes = Array((line + "\n").utf8)
            _ = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        }

        /// The whole lines of a file.
        static func lines(of path: String) -> [String] {
            guard let data = FileManager.default.contents(atPath: path) else { return [] }
            var lines = String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            lines.removeLast()
            return lines.map(String.init)
        }
    }
#endif
