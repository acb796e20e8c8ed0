import Experimentation
import Synchronization

/// That a case can't go on; the reason has been noted as a failure.
struct CaseStopped: Error {}

extension Probe {
    /// Notes a step for the story.
    public func note(_ step: String) { state.withLock { $0.steps.append(step) } }

    /// Expects something to be so.
    ///
    /// - Parameters:
    ///   - condition: What is expected.
    ///   - message: What was expected, in words.
    ///   - file: The place of the expectation.
    ///   - line: The place of the expectation.
    /// - Returns: Whether it is so.
    @discardableResult
    public func expect(
        _ condition: Bool,
        _ message: @autoclosure () -> String,
        file: String = #fileID,
        line: Int = #line
    ) -> Bool {
        state.withLock { $0.expectations += 1 }
        if !condition { fail(message(), file: file, line: line) }
        return condition
    }

    /// Expects a value.
    ///
    /// - Parameters:
    ///   - actual: What is seen.
    ///   - expected: What should be.
    ///   - what: What it is, in words.
    ///   - file: The place of the expectation.
    ///   - line: The place of the expectation.
    /// - Returns: Whether it is so.
    @discardableResult
    public func expect<Value: Equatable>(
        _ actual: Value,
        equals expected: Value,
        _ what: @autoclosure () -> String,
        file: String = #fileID,
        line: Int = #line
    ) -> Bool {
        expect(
            actual == expected,
            "\(what()): expected \(Self.show(expected)), saw \(Self.show(actual))",
            file: file,
            line: line
        )
    }

    /// Expects something to be so, and ends the case if it isn't.
    ///
    /// - Parameters:
    ///   - condition: What is expected.
    ///   - message: What was expected, in words.
    ///   - file: The place of the expectation.
    ///   - line: The place of the expectation.
    /// - Throws: To end the case.
    public func require(
        _ condition: Bool,
        _ message: @autoclosure () -> String,
        file: String = #fileID,
        line: Int = #line
    ) throws {
        if !expect(condition, message(), file: file, line: line) { throw CaseStopped() }
    }

    /// Expects a value to be there, and ends the case if it isn't.
    ///
    /// - Parameters:
    ///   - value: What should be there.
    ///   - what: What it is, in words.
    ///   - file: The place of the expectation.
    ///   - line: The place of the expectation.
    /// - Returns: The value.
    /// - Throws: To end the case.
    public func unwrap<Value>(
        _ value: Value?,
        _ what: @autoclosure () -> String,
        file: String = #fileID,
        line: Int = #line
    ) throws -> Value {
        guard let value else {
            expect(false, "\(what()): expected a value, saw none", file: file, line: line)
            throw CaseStopped()
        }
        state.withLock { $0.expectations += 1 }
        return value
    }

    /// Expects an error with a code.
    ///
    /// - Parameters:
    ///   - what: What should fail, in words.
    ///   - codes: Any of these codes will do; every code if none is named.
    ///   - file: The place of the expectation.
    ///   - line: The place of the expectation.
    ///   - work: What should fail.
    /// - Returns: The error, if there was one of ours.
    @discardableResult
    public func expectError(
        _ what: String,
        _ codes: ErrorCode...,
        file: String = #fileID,
        line: Int = #line,
        _ work: () async throws -> Void
    ) async -> ExperimentationError? {
        do {
            try await work()
            expect(false, "\(what): expected \(Self.list(codes)), saw no error", file: file, line: line)
            return nil
        } catch let error as ExperimentationError {
            expect(
                codes.isEmpty || codes.contains(error.code),
                "\(what): expected \(Self.list(codes)), saw \(error)",
                file: file,
                line: line
            )
            return error
        } catch {
            expect(false, "\(what): expected \(Self.list(codes)), saw \(error)", file: file, line: line)
            return nil
        }
    }

    /// Expects something to become so within a few real seconds, without pushing time.
    ///
    /// - Parameters:
    ///   - message: What is expected, in words.
    ///   - limit: How long to wait.
    ///   - file: The place of the expectation.
    ///   - line: The place of the expectation.
    ///   - condition: What is expected.
    /// - Returns: Whether it became so.
    /// - Throws: What the condition throws, and when the case is cancelled.
    @discardableResult
    public func eventually(
        _ message: String,
        within limit: Duration = .seconds(3),
        file: String = #fileID,
        line: Int = #line,
        _ condition: () async throws -> Bool
    ) async throws -> Bool {
        let deadline = ContinuousClock.now.advanced(by: limit)
        while true {
            if try await condition() {
                state.withLock { $0.expectations += 1 }
                return true
            }
            if ContinuousClock.now >= deadline { break }
            try await Task.sleep(for: .milliseconds(2))
        }
        return expect(false, "\(message), within \(limit)", file: file, line: line)
    }

    /// Expects something to become so after a wait that is pushed, over and over, a few times.
    ///
    /// Somebody may begin to wait only after the first push, so one push proves nothing.
    ///
    /// - Parameters:
    ///   - message: What is expected, in words.
    ///   - step: How far time is pushed each time.
    ///   - file: The place of the expectation.
    ///   - line: The place of the expectation.
    ///   - condition: What is expected.
    /// - Returns: Whether it became so.
    /// - Throws: What the condition throws, and when the case is cancelled.
    @discardableResult
    public func eventually(
        _ message: String,
        pushing step: Duration,
        file: String = #fileID,
        line: Int = #line,
        _ condition: () async throws -> Bool
    ) async throws -> Bool {
        for _ in 0..<6 {
            push(step)
            let deadline = ContinuousClock.now.advanced(by: .milliseconds(400))
            while ContinuousClock.now < deadline {
                if try await condition() {
                    state.withLock { $0.expectations += 1 }
                    return true
                }
                try await Task.sleep(for: .milliseconds(2))
            }
        }
        return expect(false, "\(message), after pushing \(step) six times", file: file, line: line)
    }

    /// Notes a failure.
    public func fail(_ message: String, file: String = #fileID, line: Int = #line) {
        state.withLock { state in
            state.failures.append(Failure(message, file: file, line: line))
            state.steps.append("✘ \(message)")
        }
    }

    private static func list(_ codes: [ErrorCode]) -> String {
        codes.isEmpty ? "an error" : codes.map(\.rawValue).joined(separator: " or ")
    }

    private static func show<Value>(_ value: Value) -> String {
        if let text = value as? String { return "\"\(text)\"" }
        if let ledger = value as? Ledger {
            let dropped = ledger.dropped.sorted { $0.key.rawValue < $1.key.rawValue }.map {
                "\($0.value) dropped as \($0.key.rawValue)"
            }
            let parts = [
                "\(ledger.accepted) accepted", "\(ledger.delivered) delivered", "\(ledger.pending) pending",
                "\(ledger.purged) purged",
            ]
            return (parts + dropped).joined(separator: ", ")
        }
        return String(describing: value)
    }
}
