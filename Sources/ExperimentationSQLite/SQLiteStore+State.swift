import Experimentation
import Foundation
internal import GRDB

/// What isn't an event, and what is left of what was removed.
extension SQLiteStore {
    /// The value of a key, or `nil`.
    public func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        try await commits.perform(.read) { database, _ in try StateTable.value(for: key, database) }
    }

    /// Sets or, with `nil`, removes a value.
    public func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        let (data, traces) = (value.map { Data($0) }, traces)
        try await commits.perform(.write) { database, table in
            traces.noteValue()
            try StateTable.set(data, for: key, database)
            if let data, try !table.hasRoom(after: data.count, database) { throw StoreFault.full }
        }
    }

    /// Sets or removes a value, if it is still what the caller has seen.
    public func update(
        _ key: String,
        to value: [UInt8]?,
        if expected: [UInt8]?
    ) async throws(ExperimentationError) -> StateUpdate {
        let (data, traces) = (value.map { Data($0) }, traces)
        return try await commits.perform(.write) { database, table in
            traces.noteValue()
            let outcome = try StateTable.update(key, to: data, if: expected, database)
            if let data, try !table.hasRoom(after: data.count, database) { throw StoreFault.full }
            return outcome
        }
    }

    /// The keys that begin with a text, the least recently written first.
    public func keys(beginningWith prefix: String) async throws(ExperimentationError) -> [String] {
        try await commits.perform(.read) { database, _ in try StateTable.keys(beginningWith: prefix, database) }
    }

    /// Removes every key that begins with one of some texts.
    ///
    /// What is left of the values in the files is erased right behind it; ``finishErasing()`` waits for that.
    public func removeAll(beginningWith prefixes: [String]) async throws(ExperimentationError) {
        let removed = try await commits.perform(.removal) { database, _ in
            let removed = try prefixes.reduce(0) { $0 + (try StateTable.removeAll(beginningWith: $1, database)) }
            if removed > 0 { try Erasing.owe(database) }
            return removed
        }
        if removed > 0 || traces.mayExistOfValues { eraseBehind() }
    }

    // MARK: Erasing

    /// Waits until nothing is left in the files of what was removed.
    ///
    /// Removing something needn't wait for it: it is gone for good, and erased soon after, at the latest by ``close()``.
    /// What a process that dies leaves behind is erased when the file is opened the next time.
    ///
    /// - Throws: `ErrorCode.store` if the files can't be rewritten now; the next removal tries it again.
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
