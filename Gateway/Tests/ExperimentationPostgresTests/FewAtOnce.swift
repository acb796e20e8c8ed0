/// Lets a few pieces of work run at once; the others wait in turn.
actor FewAtOnce {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) { free = count }

    /// Runs work when there is a place for it.
    func run<Value: Sendable>(_ work: @Sendable () async -> Value) async -> Value {
        await enter()
        let value = await work()
        leave()
        return value
    }

    private func enter() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    /// Gives the place to who has waited longest.
    private func leave() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}
