import Experimentation

/// Links a user at every vendor that links in steps; the vendors progress independently, so a failing one delays no
/// other.
struct ComposedLinker: IdentityLinker {
    /// The vendors that link, by name.
    let linkers: [(name: String, linker: any IdentityLinker)]

    func advance(_ progress: LinkProgress) async throws(ExperimentationError) -> LinkProgress {
        var own = progress.parts
        let begun = LinkProgress(from: progress.from, to: progress.to, criteria: progress.criteria)
        var failure: ExperimentationError?
        for (name, linker) in linkers {
            let before = own[name] ?? begun
            if before.isComplete { continue }
            do throws(ExperimentationError) {
                own[name] = try await linker.advance(before)
                return try after(progress, own)
            } catch {
                failure = failure ?? error.of(name)
            }
        }
        if let failure { throw failure }
        return try after(progress, own)
    }

    private func after(
        _ progress: LinkProgress,
        _ own: [String: LinkProgress]
    ) throws(ExperimentationError) -> LinkProgress {
        var next = try progress.with(parts: own)
        next.isComplete = linkers.allSatisfy { own[$0.name]?.isComplete ?? false }
        // The resulting ids come from the first vendor that changes them.
        if next.isComplete {
            next.to = linkers.lazy.compactMap { own[$0.name]?.to }.first { $0 != progress.to } ?? progress.to
        }
        return next
    }
}
