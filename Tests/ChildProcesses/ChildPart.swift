#if os(Linux)
    import Foundation

    /// A part that this test program plays in a process of its own: a test starts it, and may kill it.
    ///
    /// A module with such parts has a suite `ChildParts` with a single test, which runs in a child alone and is skipped
    /// everywhere else.
    public struct ChildPart: Sendable {
        private static let variable = "TEST_CHILD_PART"

        /// What the part is called.
        public let name: String
        /// What it needs to know.
        public let words: [String]

        /// The part that this process plays, if it is a child.
        public static let played: ChildPart? = {
            guard let value = ProcessInfo.processInfo.environment[variable] else { return nil }
            let words = value.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            return ChildPart(name: words[0], words: Array(words.dropFirst()))
        }()

        /// Starts this program again to play a part.
        ///
        /// The child's input stays open while the process value lives; see ``untilKilled()``.
        ///
        /// - Parameters:
        ///   - name: What the part is called.
        ///   - words: What it needs to know; none of them holds a tab.
        ///   - starter: A program with its arguments that starts what follows them.
        ///   - file: The caller's file, which names the module whose parts these are.
        /// - Returns: The process, whose status is 0 if the part was played without an issue.
        /// - Throws: When it can't be started.
        public static func start(
            _ name: String,
            _ words: [String],
            by starter: [String] = [],
            file: String = #fileID
        ) throws -> ChildProcess {
            // The test program is found by its own name; `swift test` starts it by a helper of the tools otherwise.
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
                // Its figures come from its words, never from what the parent was asked for.
                environment: [variable: ([name] + words).joined(separator: "\t"), "SOAK": ""]
            )
        }

        /// In a child: does nothing until the process is killed, or its parent has lost interest in it.
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
        /// Kills the process, without a chance to do anything, and waits until it is gone.
        public func kill() async {
            signal(SIGKILL)
            _ = await status()
        }
    }
#endif
