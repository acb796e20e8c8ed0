import Experimentation
import Foundation
import Synchronization

/// The file that is being written: opened when there is something to write, and again when somebody took it away.
final class OpenFile: Sendable {
    private struct State {
        var descriptor: Int32 = -1
        var size = 0
        /// In which period the file was last written.
        var period = 0
        /// What is written into, where it really lies.
        var place = FilePlace()
        /// Whether its folder was there once: one that has vanished since is a disk that is gone, and isn't made anew.
        var isKnown = false
        /// Whether what was written last ends within a line, and can't be taken back.
        var isTorn = false
    }

    private let path: String
    private let largest: Int
    private let seconds: Double
    private let state = Mutex(State())
    /// For how many milliseconds the reader of a pipe may take nothing before that is an outage.
    private let patience: Int32

    init(_ configuration: FileConfiguration, patience: Int32) {
        self.patience = patience
        path = configuration.path
        largest = configuration.largest
        seconds = configuration.period / .seconds(1)
    }

    deinit { close() }

    /// Writes whole lines; what can't be written leaves no part of itself.
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
            // What is wrong with the folder shows at once by the file that can't be opened in it.
            try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        let changed = (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
        let isStream = FilePlace.isStream(path)
        let descriptor = isStream ? SystemFile.openedStream(path) : SystemFile.opened(path)
        guard descriptor >= 0, let size = SystemFile.size(descriptor) else {
            throw FileFailure(step: "opened", code: SystemFile.failure)
        }
        // Somebody put another thing there meanwhile: the next time it is known for what it is.
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

    /// Cuts off what a crash left of a line: its event isn't delivered yet and comes again.
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
        // Two files may end within one millisecond; the names stay in the order of their ends.
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
        // What is left of a line in a stream becomes a line of its own, and hides none of those that follow.
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

    /// Takes back what was written of a batch; the file is opened anew the next time.
    private func undone(_ failure: FileFailure, _ state: inout State) -> FileFailure {
        // What a stream has taken is gone; a reader that is merely slow gets the rest of the line's end.
        if state.place.isStream, failure.code == EAGAIN { return failure }
        if !state.place.isStream { _ = SystemFile.cut(state.descriptor, to: state.size) }
        Self.close(&state)
        return failure
    }
}
