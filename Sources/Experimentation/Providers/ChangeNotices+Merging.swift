extension AsyncStream<ChangeNotice> {
    /// Merges the notices of several vendors; ends when all have ended.
    ///
    /// - Parameters:
    ///   - streams: The vendors' notices.
    ///   - passing: Called with a vendor's index and its notice, before that is passed on; returns what to pass on, if
    ///     anything.
    /// - Returns: The merged notices.
    package static func merging(
        _ streams: [AsyncStream<ChangeNotice>],
        _ passing: @escaping @Sendable (_ index: Int, _ notice: ChangeNotice) async -> ChangeNotice?
    ) -> AsyncStream<ChangeNotice> {
        // Notices only trigger a refresh, so older ones may be dropped.
        let (merged, continuation) = makeStream(bufferingPolicy: .bufferingNewest(2))
        let listening = Task {
            await withTaskGroup(of: Void.self) { group in
                for (index, notices) in streams.enumerated() {
                    group.addTask {
                        for await notice in notices {
                            guard let notice = await passing(index, notice) else { continue }
                            let outcome = continuation.yield(notice)
                            // One vendor's change mustn't be lost to another vendor's `unheard`.
                            if case .dropped(.changed) = outcome, notice != .changed { continuation.yield(.changed) }
                        }
                    }
                }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in listening.cancel() }
        return merged
    }
}
