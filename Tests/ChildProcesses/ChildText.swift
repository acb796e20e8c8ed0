import Foundation
import Synchronization

/// The output of a child to one of its files so far.
public final class ChildText: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var isOver = false
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }
    private let kept = Mutex(State())

    func collect(_ end: Descriptor) {
        Thread.detachNewThread {
            while true {
                let bytes = end.read()
                self.note(bytes)
                if bytes.isEmpty { return }
            }
        }
    }

    /// Adds output; empty output means the end.
    private func note(_ bytes: [UInt8]) {
        let content = kept.withLock { state in
            state.bytes += bytes
            state.isOver = bytes.isEmpty
            let (isOver, count) = (state.isOver, state.bytes.count)
            defer { state.waiters.removeAll { isOver || $0.count < count } }
            return state.waiters.filter { isOver || $0.count < count }.map(\.continuation)
        }
        for continuation in content { continuation.resume() }
    }

    /// The whole output so far.
    public var text: String { kept.withLock { String(decoding: $0.bytes, as: UTF8.self) } }

    /// Waits for the first complete line with this prefix; `nil` if the child ends without one.
    public func firstLine(beginning: String = "") async -> String? {
        while true {
            let (bytes, isOver) = kept.withLock { ($0.bytes, $0.isOver) }
            let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
            if let line = lines.first(where: { $0.starts(with: beginning.utf8) }) {
                return String(decoding: line, as: UTF8.self)
            }
            if isOver { return nil }
            await untilMore(than: bytes.count)
        }
    }

    /// Waits until the child and all processes that inherited the file have closed it.
    public func untilEnd() async { await untilMore(than: .max - 1) }

    private func untilMore(than count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = kept.withLock { state in
                if state.isOver || state.bytes.count > count { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}
