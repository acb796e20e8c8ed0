import Experimentation

/// The switches of vendors that are asked for them, as one: each is noted for its vendor, and the whole is off when all who
/// decide are.
struct ComposedSwitch: RemoteSwitch {
    let parts: Parts

    func ask() async -> RemoteSwitchAnswer {
        let asked = parts.all.filter { $0.roles.remoteSwitch != nil }
        let answers = await asked.indices.asyncMap { index in await asked[index].roles.remoteSwitch?.ask() }
        var wait: Duration?
        for (part, answer) in zip(asked, answers) {
            guard let answer else { continue }
            if let isOff = answer.isOff { await part.killSwitch.set(isOff) }
            wait = wait.map { min($0, answer.wait) } ?? answer.wait
        }
        let isKnown = answers.contains { $0?.isOff != nil }
        return RemoteSwitchAnswer(isOff: isKnown ? parts.areOff : nil, wait: wait ?? .seconds(3_600))
    }
}
