import Experimentation
import Foundation
internal import GRDB

/// State other than events, and erasing.
extension SQLiteStore {
    /// The value of a key, or `nil`.
    public func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        try await commits.perform(.read) { database, _ in try StateTable.value(for: key, database) }
    }

    /// Sets or, with `nil`, removes a value.
    public func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        try await commits.perform(.setting(value)) { [traces] database, table in
            traces.noteValue()
            try StateTable.set(value, for: key, database)
            if let value, try !table.hasRoom(after: value.count, database) { throw StoreFault.full }
        }
    }

    /// Sets or removes a value if it is still what the caller has seen.
    public func update(
        _ key: String,
        to value: [UInt8]?,
        if expected: [UInt8]?
    ) async throws(ExperimentationError) -> StateUpdate {
        do throws(ExperimentationError) {
            return try await commits.perform(.setting(value)) { [traces] database, table in
                traces.noteValue()
                let outcome = try StateTable.update(key, to: value, if: expected, database)
                guard let value, outcome == .updated else { return outcome }
                guard try table.hasRoom(after: value.count, database) else { throw StoreFault.full }
                return outcome
            }
        } catch {
            // A full store accepts nothing, but can still report a conflicting value.
            let current = try await self.value(for: key)
            if current == expected { throw error }
            return .conflict(current)
        }
    }

    /// The keys with a prefix, least recently written first.
    public func keys(beginningWith prefix: String) async throws(ExperimentationError) -> [String] {
        try await commits.perform(.read) { database, _ in try StateTable.keys(beginningWith: prefix, database) }
    }

    /// Removes every key with one of these prefixes.
    ///
    /// Traces of the values in the files are erased right afterwards; ``finishErasing()`` waits for that.
    public func removeAll(beginningWith prefixes: [String]) async throws(ExperimentationError) {
        let isErasingOwed = try await commits.perform(.removal) { [traces] database, _ in
            let removed = try prefixes.reduce(0) { $0 + (try StateTable.removeAll(beginningWith: $1, database)) }
            // What was removed or replaced before leaves traces, too.
            let isErasingOwed = removed > 0 || traces.mayExistOfValues
            if isErasingOwed { try Erasing.owe(database) }
            return isErasingOwed
        }
        if isErasingOwed { eraseBehind() }
    }

    // MARK: Erasing

    /// Waits until no trace of what was removed is left in the files.
    ///
    /// A removal needn't wait for it: what was removed is gone for good, and erased soon afterwards, at the latest by
    /// ``close()``. If the process dies before that, it is erased when the file is next opened.
    ///
    /// - Throws: `ErrorCode.store` if the files can't be rewritten now; the next removal tries again.
    public func finishErasing() async throws(ExperimentationError) {
        guard traces.isErasingOwed else { return }
        try await commits.erase(erasing)
    }

    func eraseBehind() {
        traces.oweErasing()
        commits.eraseLater(erasing)
    }

    var erasing: Erasing { Erasing(file: file, traces: traces, lock: lock) }
}

extension GroupCommit.Kind {
    /// Setting a value, or removing it with `nil`, which is possible in a full store too.
    fileprivate static func setting(_ value: [UInt8]?) -> Self { value == nil ? .removal : .write }
}
