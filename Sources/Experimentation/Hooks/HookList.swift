import Synchronization

/// The hooks of a client: read with every evaluation, rarely added to.
final class HookList: Sendable {
    private final class Box: Sendable {
        let hooks: [any Hook]
        init(_ hooks: [any Hook]) { self.hooks = hooks }
    }

    private let lanes: Lanes<Box>
    private let count: Atomic<Int>

    init(_ hooks: [any Hook]) {
        lanes = Lanes(Box(hooks))
        count = Atomic(hooks.count)
    }

    /// Whether there are none; costs one load.
    var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    /// The hooks in the order of *before*.
    var all: [any Hook] { lanes.read { $0.hooks } }

    /// The hooks, followed by those of one evaluation; copies nothing if there are none.
    func with(_ own: [any Hook]) -> [any Hook] { own.isEmpty ? all : all + own }

    /// Adds hooks at the end.
    func append(_ more: [any Hook]) {
        lanes.update { Box($0.hooks + more) }
        count.store(lanes.current.hooks.count, ordering: .relaxed)
    }
}
