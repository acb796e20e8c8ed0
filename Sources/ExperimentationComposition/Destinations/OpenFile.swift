import Experimentation
import Foundation
import Synchronization

/// The file being written; opened for the first write, and again after it was moved or deleted.
final class OpenFile: Sendable {
    private struct State {
        var descriptor: Int32 = -1
        var size = 0
        /// The period of the last write.
        var period = 0
        /// The resolved location.
        var place = FilePlace()
        /// Whether its folder has existed: if it vanishes later, the disk is gone, and the folder isn't created again.
        var isKnown = false
        /// Whether the stream ends within a line, which can't be undone.
        var isTorn = false
    }

    private let path: String
    private let largest: Int
    private let seconds: Double
    private let state = Mutex(State())
    /// How long the reader of a pipe may stall before it counts as an outage, in milliseconds.
    private let patience: Int32

    init(_ configuration: FileConfiguration, patience: Int32) {
        self.patience = patience
        path = configuration.path
        largest = configuration.largest
        seconds = configuration.period / .seconds(1)
    }

    deinit { close() }

    /// Appends whole lines; on failure, removes what was written of them.
    func append(_ lines: [UInt8], at now: Date) throws(FileFailure) {
        let failure = state.withLock { state -> FileFailure? in
            do throws(FileFailure) {
                try prepare(&state, for: lines.count, at: now)
                try write(lines, &state)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    /// Closes the file.
    func close() { state.withLock { Self.close(&$0) } }

    private static func close(_ state: inout State) {
        state.isTorn = false
        if state.descriptor >= 0 { SystemFile.closed(state.descriptor) }
        state.descriptor = -1
    }

    private func period(of date: Date) -> Int {
        Int(exactly: (date.timeIntervalSince1970 / seconds).rounded(.down)) ?? 0
    }

    private func prepare(_ state: inout State, for count: Int, at now: Date) throws(FileFailure) {
        if state.descriptor >= 0, !SystemFile.leads(path, to: state.descriptor) { Self.close(&state) }
        if state.descriptor < 0 { try open(&state) }
        if state.place.isStream { return }
        let isFull = state.size > 0 && state.size + count > largest
        if isFull || (state.size > 0 && state.period != period(of: now)) { try rotate(&state, at: now) }
        state.period = period(of: now)
    }

    private func open(_ state: inout State) throws(FileFailure) {
        let folder = URL(filePath: path).deletingLastPathComponent()
        if !state.isKnown {
            // If this fails, opening the file reports the reason.
            try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        let changed = (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
        let isStream = FilePlace.isStream(path)
        let descriptor = isStream ? SystemFile.openedStream(path) : SystemFile.opened(path)
        guard descriptor >= 0, let size = SystemFile.size(descriptor) else {
            throw FileFailure(step: "opened", code: SystemFile.failure)
        }
        // The file was replaced after the check; the next attempt sees what it is.
        guard isStream || SystemFile.isRegular(descriptor) else {
            SystemFile.closed(descriptor)
            throw FileFailure(step: "opened", code: EAGAIN)
        }
        let place = FilePlace(path: isStream ? path : SystemFile.resolved(path) ?? path, isStream: isStream)
        state = State(
            descriptor: descriptor,
            size: size,
            period: changed.map { period(of: $0) } ?? 0,
            place: place,
            isKnown: true
        )
        if !isStream { try dropTornLine(&state) }
    }

    /// Truncates a line cut off by a crash; its event isn't delivered yet and comes again.
    private func dropTornLine(_ state: inout State) throws(FileFailure) {
        var end = state.size
        while end > 0 {
            let start = max(0, end - 4_096)
            guard let bytes = SystemFile.read(end - start, at: start, of: state.descriptor) else {
                throw FileFailure(step: "read", code: SystemFile.failure)
            }
            if let last = bytes.lastIndex(of: UInt8(ascii: "\n")) {
                end = start + last + 1
                break
            }
            end = start
        }
        guard end < state.size else { return }
        guard SystemFile.cut(state.descriptor, to: end) else {
            throw FileFailure(step: "cut", code: SystemFile.failure)
        }
        state.size = end
    }

    private func rotate(_ state: inout State, at now: Date) throws(FileFailure) {
        Self.close(&state)
        let file = URL(filePath: state.place.path)
        let stamp = now.iso8601Milliseconds.filter { $0 != "-" && $0 != ":" }
        let base = file.deletingPathExtension().path + "-" + stamp
        let ending = file.pathExtension.isEmpty ? "" : "." + file.pathExtension
        // Several files may end within one millisecond; the suffix keeps names in order.
        let names = [base + ending] + (2...999).map { "\(base)_\($0)\(ending)" }
        guard let name = names.first(where: { !SystemFile.isThere($0) }) else {
            throw FileFailure(step: "put aside", code: EEXIST)
        }
        guard SystemFile.renamed(file.path, to: name) else {
            throw FileFailure(step: "put aside", code: SystemFile.failure)
        }
        try open(&state)
    }

    private func write(_ lines: [UInt8], _ state: inout State) throws(FileFailure) {
        // Ends a torn line in a stream, so that it spoils none of the following ones.
        let bytes = state.isTorn ? [UInt8(ascii: "\n")] + lines : lines
        var written = 0
        while written < bytes.count {
            let count = SystemFile.written(bytes, from: written, to: state.descriptor)
            let code = count < 0 ? SystemFile.failure : ENOSPC
            if count < 0, code == EINTR { continue }
            if count < 0, code == EAGAIN, SystemFile.takesMore(state.descriptor, within: patience) { continue }
            guard count > 0 else {
                if written > 0 { state.isTorn = bytes[written - 1] != UInt8(ascii: "\n") }
                throw undone(FileFailure(step: "written", code: code), &state)
            }
            written += count
        }
        state.isTorn = false
        if state.place.isStream { return }
        guard SystemFile.synced(state.descriptor) else {
            throw undone(FileFailure(step: "synced", code: SystemFile.failure), &state)
        }
        state.size += lines.count
    }

    /// Truncates the file to its size before the batch, and closes it.
    private func undone(_ failure: FileFailure, _ state: inout State) -> FileFailure {
        // Bytes in a stream can't be undone. If its reader is only slow, it stays open.
        if state.place.isStream, failure.code == EAGAIN { return failure }
        if !state.place.isStream { _ = SystemFile.cut(state.descriptor, to: state.size) }
        Self.close(&state)
        return failure
    }
}
