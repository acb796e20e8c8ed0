import Experimentation
import Synchronization

/// Thrown when a case can't continue; the failure has already been recorded.
struct CaseStopped: Error {}

extension Probe {
    /// Adds a step to the story.
    public func note(_ step: String) { state.withLock { $0.steps.append(step) } }

    /// Expects a condition to be true.
    ///
    /// - Parameters:
    ///   - condition: The condition.
    ///   - message: The expectation in words.
    ///   - file: The file of the expectation.
    ///   - line: The line of the expectation.
    /// - Returns: Whether it is true.
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

    /// Expects a value; a text must have the same bytes.
    ///
    /// - Parameters:
    ///   - actual: The actual value.
    ///   - expected: The expected value; nested texts are compared by their bytes, too.
    ///   - what: What the value is, in words.
    ///   - file: The file of the expectation.
    ///   - line: The line of the expectation.
    /// - Returns: Whether the values are equal.
    @discardableResult
    public func expect<Value: Equatable>(
        _ actual: Value,
        equals expected: Value,
        _ what: @autoclosure () -> String,
        file: String = #fileID,
        line: Int = #line
    ) -> Bool {
        let isEqual = actual == expected
        return expect(
            isEqual && haveSameBytes(actual, expected),
            "\(what()): \(Self.difference(of: actual, from: expected, isVisible: !isEqual))",
            file: file,
            line: line
        )
    }

    /// Expects a condition to be true, and ends the case if it isn't.
    ///
    /// - Parameters:
    ///   - condition: The condition.
    ///   - message: The expectation in words.
    ///   - file: The file of the expectation.
    ///   - line: The line of the expectation.
    /// - Throws: To end the case.
    public func require(
        _ condition: Bool,
        _ message: @autoclosure () -> String,
        file: String = #fileID,
        line: Int = #line
    ) throws {
        if !expect(condition, message(), file: file, line: line) { throw CaseStopped() }
    }

    /// Expects a value not to be `nil`, and ends the case if it is.
    ///
    /// - Parameters:
    ///   - value: The optional value.
    ///   - what: What the value is, in words.
    ///   - file: The file of the expectation.
    ///   - line: The line of the expectation.
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
    ///   - codes: The accepted codes; any if empty.
    ///   - file: The file of the expectation.
    ///   - line: The line of the expectation.
    ///   - work: What should fail.
    /// - Returns: The error, if it is an `ExperimentationError`.
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

    /// Expects a condition to become true within some real seconds, without pushing time.
    ///
    /// - Parameters:
    ///   - message: The expectation in words.
    ///   - limit: The maximum time to wait.
    ///   - file: The file of the expectation.
    ///   - line: The line of the expectation.
    ///   - condition: The condition.
    /// - Returns: Whether it became true.
    /// - Throws: What the condition throws, and when the case is cancelled.
    @discardableResult
    public func eventually(
        _ message: String,
        within limit: Duration = .seconds(10),
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

    /// Expects a condition to become true while time is pushed repeatedly.
    ///
    /// A task may begin to wait only after the first push, so one push isn't enough. Time isn't pushed again while the
    /// effects of the last push are under way, for a real minute at most: on a busy machine that push may have
    /// sufficed, and another one would do too much.
    ///
    /// - Parameters:
    ///   - message: The expectation in words.
    ///   - step: How far time is pushed each time.
    ///   - file: The file of the expectation.
    ///   - line: The line of the expectation.
    ///   - condition: The condition.
    /// - Returns: Whether it became true.
    /// - Throws: What the condition throws, and when the case is cancelled.
    @discardableResult
    public func eventually(
        _ message: String,
        pushing step: Duration,
        file: String = #fileID,
        line: Int = #line,
        _ condition: () async throws -> Bool
    ) async throws -> Bool {
        var patience = Duration.milliseconds(400)
        for _ in 0..<6 {
            push(step)
            let pushed = ContinuousClock.now
            var idle = pushed
            while true {
                let wasTrying = isTrying
                if try await condition() {
                    state.withLock { $0.expectations += 1 }
                    return true
                }
                // Checking the condition may take long; what ends meanwhile is seen by the next check.
                if wasTrying || isTrying { idle = .now }
                // The patience grows each time, because a task that hasn't begun to wait can't be seen.
                if idle.duration(to: .now) >= patience || pushed.duration(to: .now) >= .seconds(60) { break }
                try await Task.sleep(for: .milliseconds(2))
            }
            patience *= 2
        }
        return expect(false, "\(message), after pushing \(step) six times", file: file, line: line)
    }

    /// Whether a delivery is under way, or a task whose wait is over hasn't woken yet.
    private var isTrying: Bool { time.hasDueSleepers || state.withLock { $0.cut }?.isDelivering == true }

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

    private static func difference<Value>(of actual: Value, from expected: Value, isVisible: Bool) -> String {
        let (wanted, seen) = (show(expected), show(actual))
        guard !isVisible else { return "expected \(wanted), saw \(seen)" }
        return "expected \(escaped(wanted)), saw \(escaped(seen)), which looks the same and has other bytes"
    }

    /// The text with everything but ASCII escaped, so that its composition can be seen.
    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { $0.isASCII ? String($0) : $0.escaped(asASCII: true) }.joined()
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
