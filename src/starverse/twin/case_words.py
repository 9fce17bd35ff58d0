"""What is said of a case, in English and in Chinese; the causes of waiting are the scheduler's own words."""

from typing import Any, Literal

Language = Literal["en", "zh"]

WORDS: dict[str, tuple[str, str]] = {
    # of jobs
    "runs": ("runs", "运行"),
    "on": ("on {nodes}", "在 {nodes}"),
    "cards": ("{cards} cards", "{cards} 张卡"),
    "among": ("only on {nodes}", "只在 {nodes}"),
    "off": ("not on {nodes}", "不在 {nodes}"),
    "at-most": ("{level}: at most {most}", "{level}：至多 {most} 个"),
    "split": ("{level}: {cards} cards", "{level}：各 {cards} 张卡"),
    "runs-on": ("runs on {nodes}", "在 {nodes} 上运行"),
    "ended": ("ended: {outcome}. {why}", "已结束：{outcome}。{why}"),
    "refused": ("was refused: {text}", "被拒绝：{text}"),
    "not-there": ("was not submitted yet", "尚未提交"),
    "waits": ("waits: {why}", "等待：{why}"),
    # of times and counts
    "starts": ("starts at {at}", "{at} 时开始"),
    "starts-by": ("starts by {at}", "不晚于 {at} 开始"),
    "promised": ("is promised a start at {at}", "承诺 {at} 时开始"),
    "promised-by": ("is promised a start by {at}", "承诺不晚于 {at} 开始"),
    "never-later": ("its promised start never moves later", "承诺的开始时间从不推迟"),
    "in-order": ("start in this order: {jobs}", "按此顺序开始：{jobs}"),
    "never": ("never", "从不"),
    "run-count": ("runs so far: {count}", "至今运行次数：{count}"),
    "free": ("{cards} cards are free", "空闲 {cards} 张卡"),
    "largest-free": ("the {level} with most has {cards} free", "空闲最多的 {level} 有 {cards} 张卡"),
    "card-hours": ("{hours} card-hours charged", "计费 {hours} 卡时"),
    "wallet": ("{money} in the wallet", "钱包余额 {money}"),
    # what the command prints
    "at": ("at {at}", "时刻 {at}"),
    "end": ("at the end, {at}", "结束时，{at}"),
    "waiting": ("waiting", "等待"),
    "promise": ("(starts by {at})", "（不晚于 {at} 开始）"),
    "happened": ("what happened", "经过"),
    "more": ("… {count} more", "… 另有 {count} 条"),
    "expected": ("expected", "期望"),
    "instead": ("  instead: {found}", "  实际：{found}"),
    "all-met": ("All {count} expectations are met.", "{count} 条期望全部满足。"),
    "none": ("Nothing is expected of this case.", "这个算例没有写期望。"),
    "not-met": ("{count} of {all} expectations are not met.", "{all} 条期望中有 {count} 条不满足。"),
    "needs": ("This case needs what isn't there yet: {what}.", "这个算例需要尚未具备的部分：{what}。"),
    "bug": ("Known to go wrong: {what}", "已知有误：{what}"),
    "legend": (". free  # closed  x broken or lost", ". 空闲  # 关闭  x 故障或失联"),
    "several": ("  * several jobs", "  * 多个作业"),
    "summary": (
        "{cards} cards: {used} used, {free} free, {closed} closed, {broken} broken",
        "{cards} 张卡：占用 {used}，空闲 {free}，关闭 {closed}，故障 {broken}",
    ),
    # events
    "submitted": ("is submitted", "提交"),
    "placed": ("starts on {nodes}", "在 {nodes} 上开始"),
    "run-ended": ("its run ends: {how}", "本次运行结束：{how}"),
    "requeued": ("waits again: {why}", "重新等待：{why}"),
    "paused": ("is paused: {why}", "暂停：{why}"),
    "is-promised": ("is promised a start at {at}", "承诺 {at} 时开始"),
    "no-promise": ("no start can be promised", "无法承诺开始时间"),
    "stop-asked": ("is asked to leave: {why}", "被要求离开：{why}"),
    "lost": ("is lost", "失联"),
    "joined": ("joins", "加入"),
    "cordoned": ("is closed", "关闭"),
    "uncordoned": ("is open again", "重新开放"),
    "card": ("card {card} {state}", "卡 {card} {state}"),
    "broken": ("is broken", "故障"),
    "healed": ("is repaired", "已修复"),
    "restarted": ("the server starts again", "服务器重新启动"),
}
"""By key: English, Chinese."""


def say(language: Language, key: str, **words: Any) -> str:
    """A sentence, or a part of one."""
    return WORDS[key][language == "zh"].format(**words)
