#if os(Linux)
    import Foundation

    /// A part that this test program plays in a child process, which a test starts and may kill.
    ///
    /// A module with such parts has a suite `ChildParts` with a single test, which is skipped except in a child.
    public struct ChildPart: Sendable {
        private static let variable = "TEST_CHILD_PART"

        /// The part's name.
        public let name: String
        /// Its arguments.
        public let words: [String]

        /// The part that this process plays, if it is a child.
        public static let played: ChildPart? = {
            guard let value = ProcessInfo.processInfo.environment[variable] else { return nil }
            let words = value.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            return ChildPart(name: words[0], words: Array(words.dropFirst()))
        }()

        /// Starts this program as a child that plays a part.
        ///
        /// The child's input stays open for the lifetime of the process value; see ``untilKilled()``.
        ///
        /// - Parameters:
        ///   - name: The part's name.
        ///   - words: Its arguments; must not contain tabs.
        ///   - starter: A program and its arguments that start the command appended to them.
        ///   - file: The caller's file, which determines the module of the part.
        /// - Returns: The process; its status is 0 if the part ended without an issue.
        /// - Throws: An error if it can't be started.
        public static func start(
            _ name: String,
            _ words: [String],
            by starter: [String] = [],
            file: String = #fileID
        ) throws -> ChildProcess {
            // `swift test` may run the tests through another executable, so the test bundle is passed by name.
            let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
            var command = starter + [program]
            if let bundle, bundle != program { command += ["--test-bundle-path", bundle] }
            let module = file.prefix { $0 != "/" }
            command += ["--testing-library", "swift-testing", "--filter", "\(module).ChildParts"]
            return try ChildProcess(
                URL(filePath: command[0]),
                Array(command.dropFirst()),
                input: .heldOpen,
                // The part's figures come from its arguments, not from the parent's environment.
                environment: [variable: ([name] + words).joined(separator: "\t"), "SOAK": ""]
            )
        }

        /// In a child: waits until the process is killed or the parent closes its input.
        public static func untilKilled() async {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                Thread.detachNewThread {
                    while readLine() != nil {}
                    continuation.resume()
                }
            }
        }
    }

    extension ChildProcess {
        /// Kills the process with SIGKILL and waits until it is gone.
        public func kill() async {
            signal(SIGKILL)
            _ = await status()
        }
    }
#endif
